#!/usr/bin/env bash
# Builds src/leadhand/sandboxes/launcher.c for both processors and prints each program as base64 of its deflated bytes,
# as it stands in launcher.py. Needs gcc and gcc-aarch64-linux-gnu.
set -euo pipefail
source=$(dirname "$0")/../src/leadhand/sandboxes/launcher.c
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
echo "SOURCE = \"$(sha256sum "$source" | cut -d' ' -f1)\""
for machine in x86_64 aarch64; do
  own=()
  [[ $machine == x86_64 ]] && own=(-fcf-protection=none)
  "$machine-linux-gnu-gcc" -Os -std=c11 -Wall -Wextra -Werror -nostdlib -static -ffreestanding -fno-stack-protector \
    -fno-asynchronous-unwind-tables -fno-ident -fno-pic -no-pie "${own[@]}" -Wl,--build-id=none,-n,-z,norelro \
    -Wl,-z,noseparate-code -o "$out/$machine" "$source"
  "$machine-linux-gnu-strip" -s -R .comment "$out/$machine"
  python3 - "$machine" "$out/$machine" <<'PY'
import base64, sys, zlib
machine, path = sys.argv[1:]
program = open(path, "rb").read()
text = base64.b85encode(zlib.compress(program, 9)).decode()
print(f"{machine}: {len(program)} bytes")
for at in range(0, len(text), 100):
    print(f'    "{text[at : at + 100]}"')
PY
done

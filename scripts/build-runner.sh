#!/usr/bin/env bash
# Builds src/leadhand/sandboxes/runner.c for both processors and writes the programs into runner.py, as base64 of their
# deflated bytes. Needs gcc and gcc-aarch64-linux-gnu.
set -euo pipefail
room=$(dirname "$0")/../src/leadhand/sandboxes
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for machine in x86_64 aarch64; do
  own=()
  [[ $machine == x86_64 ]] && own=(-fcf-protection=none)
  "$machine-linux-gnu-gcc" -Os -std=c11 -Wall -Wextra -Werror -nostdlib -static -ffreestanding -fno-stack-protector \
    -fno-asynchronous-unwind-tables -fno-ident -fno-pic -no-pie "${own[@]}" -Wl,--build-id=none,-n,-z,norelro \
    -Wl,-z,noseparate-code,--no-warn-rwx-segments -o "$out/$machine" "$room/runner.c"
  "$machine-linux-gnu-strip" -s -R .comment "$out/$machine"
done
python3 - "$room" "$out" <<'PY'
import base64, hashlib, re, sys, zlib
from pathlib import Path

room, out = map(Path, sys.argv[1:])
module = room / "runner.py"
text = module.read_text()
digest = hashlib.sha256((room / "runner.c").read_bytes()).hexdigest()
text = re.sub(r'(?<=^SOURCE = ").*(?="$)', digest, text, flags=re.M)
for machine in ("x86_64", "aarch64"):
    program = (out / machine).read_bytes()
    coded = base64.b85encode(zlib.compress(program, 9)).decode()
    lines = "".join(f'    "{coded[at : at + 100]}"\n' for at in range(0, len(coded), 100))
    text = re.sub(rf"(?<=^_{machine.upper()} = \(\n).*?(?=^\))", lambda _: lines, text, flags=re.M | re.S)
    print(f"{machine}: {len(program)} bytes")
module.write_text(text)
PY

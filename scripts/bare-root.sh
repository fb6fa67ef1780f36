#!/usr/bin/env bash
# Proof: a bare Debian with python3, make and git gets from a clone to a finished demo with one command and to passing
# tests with one more, and does both again without network. Needs root and mmdebstrap; shows what is committed.
#
#   scripts/bare-root.sh [--keep] [--quick] [SUITE [MIRROR]]
#
# With --keep the system stays for a look; with --quick all tests are collected, and the core's run without network.
# SUITE and MIRROR are mmdebstrap's; without them it is bookworm (Debian 12) from where mmdebstrap gets it. For Ubuntu's
# noble, MIRROR is a line of sources.list with the components main and universe.
#
# The stand-in for a machine is a mount namespace whose root is the new system (pivot_root, not chroot: inside a chroot
# the kernel forbids user namespaces, and with them sandboxes).
set -euo pipefail

keep= tests= offline=
few="tests/core tests/guidance tests/testing tests/api"
[ "${1:-}" = --keep ] && { keep=1; shift; }
[ "${1:-}" = --quick ] && { tests="ARGS=--collect-only -qq"; offline="ARGS=-q -n 2 $few"; shift; }
[ $# -gt 0 ] || set -- bookworm
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
root=$work/root
times=()

cleanup() { [ -n "$keep" ] && echo "kept: $root" || rm -rf --one-file-system "$work"; }
trap cleanup EXIT

timed() { # NAME COMMAND...: run it and keep its wall-clock
  local name=$1 began=$EPOCHREALTIME; shift
  echo "== $name"
  "$@"
  times+=("$(printf '%-44s %6.1f s' "$name" "$(seconds_since "$began")")")
}

seconds_since() { awk -v now="$EPOCHREALTIME" -v began="$1" 'BEGIN { print now - began }'; }

build_root() { # SUITE [MIRROR]
  mmdebstrap --quiet --variant=apt --include=python3,make,git --aptopt='Acquire::Languages "none"' \
    "$1" "$root" "${@:2}"
  # This machine's word on where registries are and whom to trust.
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  local certificates=${SSL_CERT_FILE:-${PIP_CERT:-}}
  if [ -n "$certificates" ]; then cp "$certificates" "$root/etc/machine-certificates.pem"; fi
  git clone --quiet "$here" "$root/root/leadhand"
}

inside() { # [--offline] COMMAND...: run it in the bare system, with an environment of its own
  local net=(); [ "$1" = --offline ] && { net=(--net); shift; }
  local env=(HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 TERM=dumb)
  local name
  for name in PIP_INDEX_URL UV_INDEX_URL UV_DEFAULT_INDEX http_proxy https_proxy no_proxy; do
    if [ -n "${!name:-}" ]; then env+=("$name=${!name}"); fi
  done
  if [ -e "$root/etc/machine-certificates.pem" ]; then env+=(SSL_CERT_FILE=/etc/machine-certificates.pem); fi
  unshare --mount --pid --fork --kill-child "${net[@]}" bash -euc '
    mount --bind "$0" "$0"
    cd "$0"
    mount -t proc proc proc
    mount --rbind /dev dev
    mount --rbind /sys sys
    mount -t tmpfs tmpfs tmp
    mkdir -p .before
    pivot_root . .before
    cd /root/leadhand
    # A bare system has neither umount nor ip. A machine without network still has its loopback.
    python3 -c "
import ctypes, fcntl, socket, struct
ctypes.CDLL(None).umount2(b\"/.before\", 2)
fcntl.ioctl(socket.socket(), 0x8914, struct.pack(\"16sh\", b\"lo\", 1))  # SIOCSIFFLAGS, IFF_UP
"
    exec env -i "$@" </dev/null
  ' "$root" "${env[@]}" "$@"
}

timed "make the bare system" build_root "$@"
echo "Debian $(cat "$root/etc/debian_version"), $(inside python3 --version), without:"
for program in pip3 uv bwrap curl cc; do inside sh -c "command -v $program" || echo "  $program"; done
timed "make demo, with installation" inside make demo
timed "make test${tests:+ $tests}" inside make test ${tests:+"$tests"}
timed "make demo, no network" inside --offline make demo
timed "make test${offline:+ $offline}, no network" inside --offline make test ${offline:+"$offline"}
printf '%s\n' "${times[@]}"

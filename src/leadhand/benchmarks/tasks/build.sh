#!/usr/bin/env bash
# Builds the reference executables of the shipped tasks: build.sh [OUTPUT_FOLDER]
# Without OUTPUT_FOLDER each goes to <task>/reference/executable, which is what the repository holds.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
for source in "$here"/*/reference/*.c; do
  task=$(basename "$(dirname "$(dirname "$source")")")
  target=${1:+$1/$task}
  target=${target:-$here/$task/reference/executable}
  "${CC:-cc}" -std=c11 -Os -Wall -Wextra -Wno-unused-function -static -nostdlib -ffreestanding -fno-pie -no-pie \
    -fno-stack-protector -fno-asynchronous-unwind-tables -fno-tree-loop-distribute-patterns -fcf-protection=none \
    -Wl,--build-id=none -Wl,-z,noseparate-code -s -I "$here" -o "$target" "$source"
  objcopy --remove-section .comment "$target"
done

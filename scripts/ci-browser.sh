#!/usr/bin/env bash
# What the viewer's tests need besides Python: a Chromium, and a font for what models write in any script.
set -euo pipefail
command -v chromium >/dev/null && exit 0
apt-get -qq update
DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends chromium fonts-dejavu-core >/dev/null

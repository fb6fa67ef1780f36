"""A set of three tasks in Harbor's format, on images that are made of this host's own programs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import docker_image

OWN = os.getpid()  # several processes may test at once on one engine
BASE = f"leadhand-harbor:{OWN}"
PREBUILT = f"leadhand-harbor-prebuilt:{OWN}"
FROM = f"FROM {BASE}\nLABEL leadhand.test={OWN}\n"

TOML = """
schema_version = "1.1"
artifacts = []
[task]
name = "leadhand/{name}"
[metadata]
difficulty = "{difficulty}"
tags = ["x"]
[verifier]
timeout_sec = 60.0
[agent]
timeout_sec = 900.0
[environment]
build_timeout_sec = 120.0
cpus = 1
memory_mb = 1024
storage_mb = 2048
gpus = 0
allow_internet = false
mcp_servers = []
{more}
[verifier.env]
[environment.env]
LANGUAGE = "la"
[solution.env]
WHO = "world"
"""

# By bash: the words in /app, what was to be removed, and a setting far from the working directory.
BUILT = {
    "instruction.md": "Write `hello world` into /app/greeting.txt, remove /app/old, put `on` into /etc/greeting.conf.",
    "environment/Dockerfile": f"""{FROM}COPY data/old /app/old
RUN mkdir -p /app/keep && echo kept > /app/keep/file
WORKDIR /app
""",
    "environment/data/old": "old\n",
    "solution/solve.sh": """#!/bin/bash
echo "hello $WHO" > greeting.txt && rm old && echo on > /etc/greeting.conf
""",
    "tests/test.sh": """#!/bin/bash
[ "$PWD" = /app ] && [ "$LANGUAGE" = la ] || exit 1
. /tests/check.sh && good && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt
""",
    "tests/check.sh": """good() {
  [ "$(cat /app/greeting.txt)" = 'hello world' ] && [ ! -e /app/old ] && [ "$(cat /etc/greeting.conf)" = on ]
}
""",
}

# By pytest, on an image that is there already, in a folder that task.toml names.
NAMED = {
    "instruction.md": "Write a module `double` with a function `double(n)` into /srv/work.",
    "solution/solve.sh": "#!/bin/bash\nprintf 'def double(n):\\n    return 2 * n\\n' > double.py\n",
    "tests/test.sh": """#!/bin/bash
if PYTHONPATH=$PWD python3 -m pytest -q /tests/test_outputs.py; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
""",
    "tests/test_outputs.py": "from double import double\n\n\ndef test_double():\n    assert double(21) == 42\n",
}

# A share of three, beside another number.
SHARES = {
    "instruction.md": "Make the files a, b and c.",
    "environment/Dockerfile": f"{FROM}WORKDIR /app\n",
    "solution/solve.sh": "#!/bin/bash\ntouch a b c\n",
    "tests/test.sh": """#!/bin/bash
there=$(ls a b c 2> /dev/null | wc -l)
python3 -c "import json; print(json.dumps({'reward': $there / 3, 'files': $there}))" > /logs/verifier/reward.json
""",
}

SET = {
    "built": (BUILT, "easy", ""),
    "named": (NAMED, "hard", f'docker_image = "{PREBUILT}"\nworkdir = "/srv/work"'),
    "shares": (SHARES, "easy", ""),
}


def write_set(folder: Path) -> Path:
    for name, (files, difficulty, more) in SET.items():
        write(folder / name, files, TOML.format(name=name, difficulty=difficulty, more=more))
    return folder


def write(folder: Path, files: dict[str, str], toml: str) -> Path:
    for path, text in {**files, "task.toml": toml}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def make_images(scratch: Path) -> None:
    docker_image.build(BASE, scratch)
    subprocess.run(["docker", "tag", BASE, PREBUILT], check=True, capture_output=True)


def remove_images() -> None:
    ours = ["docker", "images", "-q", "--filter", f"label=leadhand.test={OWN}"]
    built = subprocess.run(ours, capture_output=True, text=True, check=False).stdout.split()
    docker_image.remove(*built, PREBUILT, BASE)

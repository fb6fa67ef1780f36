"""Where copies of well-known libraries lie on a host: hidden from sandboxes that show the host's programs."""

from __future__ import annotations

import glob
from pathlib import Path

from leadhand.core.values import Mount

# Packages of the system's Pythons, wheels that virtual environments are seeded from (pip up to 23 holds a chardet),
# and whatever was put below /opt.
PLACES = (
    "/usr/lib/python*/dist-packages",
    "/usr/lib/python*/site-packages",
    "/usr/lib64/python*/site-packages",
    "/usr/local/lib/python*/dist-packages",
    "/usr/local/lib/python*/site-packages",
    "/usr/local/lib64/python*/site-packages",
    "/usr/lib/python*/ensurepip/_bundled",
    "/usr/lib64/python*/ensurepip/_bundled",
    "/usr/local/lib/python*/ensurepip/_bundled",
    "/usr/share/python-wheels",
    "/usr/share/python3/wheels",
    "/usr/lib/pypy*/dist-packages",
    "/usr/share/pyshared",
    "/opt",
)


def hidden(empty: Path) -> tuple[Mount, ...]:
    """Mounts of the empty host folder `empty` over all such places that this machine has."""
    empty.mkdir(parents=True, exist_ok=True)
    found = sorted(path for place in PLACES for path in glob.glob(place) if Path(path).is_dir())
    return tuple(Mount(source=str(empty), target=path) for path in found if not Path(path).is_symlink())

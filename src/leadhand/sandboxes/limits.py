"""Limits that are asked for, clamped to the host; what was clamped is said."""

from __future__ import annotations

import os

import msgspec

from leadhand.core.values import Limits

SHARE = 0.8  # of the host's memory, where no limit is asked for


def clamp(limits: Limits, *, cpus: int, memory_mb: int) -> tuple[Limits, tuple[str, ...]]:
    """The limits that a host with so many processors and so much memory can give, and a warning for each lowered one.

    Memory is always limited: without a number to `SHARE` of the host's.
    """
    warnings = []
    memory = limits.memory_mb or int(memory_mb * SHARE)
    if memory > memory_mb:
        warnings.append(f"memory limit lowered from {memory} MB to the host's {memory_mb} MB")
        memory = memory_mb
    wanted = limits.cpus
    if wanted is not None and wanted > cpus:
        warnings.append(f"cpu limit lowered from {wanted:g} to the host's {cpus}")
        wanted = float(cpus)
    return msgspec.structs.replace(limits, memory_mb=memory, cpus=wanted), tuple(warnings)


def clamp_here(limits: Limits) -> tuple[Limits, tuple[str, ...]]:
    """`clamp` for this machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    return clamp(limits, cpus=len(os.sched_getaffinity(0)), memory_mb=memory)

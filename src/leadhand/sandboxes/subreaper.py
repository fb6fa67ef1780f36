"""A tiny static program that makes its command a *child subreaper*, so that no orphan leaves the command's tree.

`prctl(PR_SET_CHILD_SUBREAPER)` survives `execve`: the program sets it and executes its arguments. A process that was
orphaned, however it detached itself (setsid, double fork, cleared environment), is then adopted by its command instead
of by pid 1, and the tree below the command is complete: what is killed is everything. Needs no privilege and no
compiler; the sandbox needs no package for it. The assembly stands above each machine code.
"""

from __future__ import annotations

import struct

# mov edi,36; mov esi,1; xor edx,edx; xor r10d,r10d; xor r8d,r8d; mov eax,157; syscall          prctl(36, 1, 0, 0, 0)
# mov rdi,[rsp+16]; lea rsi,[rsp+16]; mov rax,[rsp]; lea rdx,[rsp+rax*8+16]; mov eax,59; syscall    execve(argv[1], ..)
# mov edi,127; mov eax,60; syscall                                                                   exit(127)
_X86_64 = bytes.fromhex(
    "bf24000000be0100000031d24531d24531c0b89d0000000f05"
    "488b7c2410488d742410488b0424488d54c410b83b0000000f05"
    "bf7f000000b83c0000000f05"
)

# mov x0,36; mov x1,1; mov x2,0; mov x3,0; mov x4,0; mov x8,167; svc 0                         prctl(36, 1, 0, 0, 0)
# ldr x3,[sp]; add x1,sp,16; ldr x0,[x1]; add x2,x1,x3,lsl 3; mov x8,221; svc 0                execve(argv[1], ..)
# mov x0,127; mov x8,93; svc 0                                                                 exit(127)
_AARCH64 = bytes.fromhex(
    "800480d2210080d2020080d2030080d2040080d2e81480d2010000d4"
    "e30340f9e1430091200040f9220c038ba81b80d2010000d4"
    "e00f80d2a80b80d2010000d4"
)

_MACHINES = {"x86_64": (62, _X86_64), "amd64": (62, _X86_64), "aarch64": (183, _AARCH64), "arm64": (183, _AARCH64)}


def subreaper(machine: str) -> bytes | None:
    """The program for a processor as `uname -m` or the Docker Engine names it; None where there is none."""
    if machine not in _MACHINES:
        return None
    number, code = _MACHINES[machine]
    base, start = 0x400000, 64 + 56
    size = start + len(code)
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 2, number, 1, base + start, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, base, base, size, size, 0x10000 if number == 183 else 0x1000)
    return head + segment + code

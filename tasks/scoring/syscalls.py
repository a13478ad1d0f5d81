"""Build a seccomp filter for model-written code; the filter blocks system calls that bubblewrap allows.

The filter blocks shared memory that is not attributed to a process, access to other processes' memory, new
namespaces, mounts, keyrings, and the kernel's programmable interfaces (BPF, io_uring). Blocked calls fail
with "operation not permitted".
"""

from __future__ import annotations

import errno
import platform
import struct

REFUSED: dict[str, tuple[int, int]] = {
    "ptrace": (101, 117),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "msgget": (68, 186),
    "semget": (64, 190),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "unshare": (272, 97),
    "setns": (308, 268),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "memfd_create": (319, 279),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kexec_load": (246, 104),
    "open_by_handle_at": (304, 265),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "personality": (135, 92),
    "io_uring_setup": (425, 425),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsmount": (432, 432),
    "mount_setattr": (442, 442),
    "memfd_secret": (447, 447),
}
"""Name of a blocked call -> call number on x86-64 and on 64-bit ARM."""
CLONE3 = 435
CLONE_NEWUSER = 0x10000000
"""`CLONE3`: the number of the call `clone3`. `CLONE_NEWUSER`: the `clone` flag for a user namespace."""


PROCESSORS = {"x86_64": (0xC000003E, 56), "aarch64": (0xC00000B7, 220)}
"""Processor -> (audit number, number of the call `clone`); REFUSED lists the processors in this order."""
LOAD, JUMP_EQUAL, JUMP_ABOVE, JUMP_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
"""Operation codes of BPF instructions."""
NUMBER, AUDIT, FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data
ALLOW, KILL, REFUSE = 0x7FFF0000, 0x80000000, 0x00050000
"""Return values of a seccomp filter: allow the call, kill the process, or fail with an error number."""
X32 = 0x40000000
"""The bit that marks call numbers of x86-64's x32 interface; the filter kills a process that uses x32.

Otherwise these call numbers would bypass the filter.
"""


def make_filter() -> bytes | None:
    """Build the filter in the format of `bwrap --seccomp`; None for an unknown processor."""
    if platform.machine() not in PROCESSORS:
        return None
    column = list(PROCESSORS).index(platform.machine())
    audit, clone = PROCESSORS[platform.machine()]
    program = [
        (LOAD, 0, 0, AUDIT),
        (JUMP_EQUAL, 1, 0, audit),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
        (JUMP_ABOVE, 0, 1, X32),
        (RETURN, 0, 0, KILL),
        # If clone3 fails, glibc falls back to clone, whose flags a filter can inspect.
        (JUMP_EQUAL, 0, 1, CLONE3),
        (RETURN, 0, 0, REFUSE | errno.ENOSYS),
    ]
    for numbers in REFUSED.values():
        program += [(JUMP_EQUAL, 0, 1, numbers[column]), (RETURN, 0, 0, REFUSE | errno.EPERM)]
    program += [
        (JUMP_EQUAL, 0, 3, clone),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (JUMP_ANY_BIT, 0, 1, CLONE_NEWUSER),
        (RETURN, 0, 0, REFUSE | errno.EPERM),
        (RETURN, 0, 0, ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)

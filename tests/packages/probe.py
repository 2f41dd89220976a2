# SPDX-License-Identifier: Apache-2.0
"""Tries, with the rights of the service, what it must and must not be able to do to a process.

    probe.py PID ADDRESS FILE    ADDRESS: of eight bytes in that process

FILE gets a JSON object: what was tried, and "done" or the name of the error.
"""

import ctypes
import errno
import json
import os
import sys

libc = ctypes.CDLL(None, use_errno=True)
PTRACE_ATTACH = 16
CLONE_NEWUSER = 0x10000000
BYTES = 8


class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]


def outcome(result):
    return "done" if result >= 0 else errno.errorcode[ctypes.get_errno()]


def remote(call, pid, address):
    room = ctypes.create_string_buffer(BYTES)
    local, far = Iovec(ctypes.addressof(room), BYTES), Iovec(address, BYTES)
    return outcome(call(pid, ctypes.byref(local), 1, ctypes.byref(far), 1, 0))


def attempt(action):
    try:
        action()
        return "done"
    except OSError as error:
        return errno.errorcode[error.errno]


def main():
    pid, address, out = int(sys.argv[1]), int(sys.argv[2], 0), sys.argv[3]
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long
    tried = {
        "read memory": remote(libc.process_vm_readv, pid, address),
        "list its maps": attempt(lambda: open("/proc/%d/maps" % pid).read()),
        "look into its root": attempt(lambda: os.stat("/proc/%d/root/etc" % pid)),
        "write memory": remote(libc.process_vm_writev, pid, address),
        "open memory for writing": attempt(lambda: os.open("/proc/%d/mem" % pid, os.O_RDWR)),
        "trace": outcome(libc.ptrace(PTRACE_ATTACH, pid, None, None)),
        "signal": attempt(lambda: os.kill(pid, 0)),
        "take a descriptor": outcome(libc.syscall(438, os.pidfd_open(pid), 0, 0)),
        "make a user namespace": outcome(libc.unshare(CLONE_NEWUSER)),
        "start another program": attempt(lambda: os.execv("/bin/true", ["true"])),
        "write to /etc": attempt(lambda: open("/etc/pystrobe/probe", "w")),
        "write to /usr": attempt(lambda: open("/usr/probe", "w")),
        "become root": attempt(lambda: os.setuid(0)),
        "change its own priority": attempt(lambda: os.nice(-1)),
    }
    with open(out, "w", encoding="utf-8") as file:
        json.dump(tried, file)


if __name__ == "__main__":
    main()

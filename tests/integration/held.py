# SPDX-License-Identifier: Apache-2.0
"""A command that a tracer holds at one of its system calls, so that what happens meanwhile needs no luck.

Source: ptrace(2) and include/uapi/linux/ptrace.h of the kernel.
"""

import ctypes
import os
import platform
import signal
import subprocess

import live

SEIZE, INTERRUPT, SYSCALL, DETACH = 0x4206, 0x4207, 24, 17  # PTRACE_
WALL = 0x40000000  # __WALL
CALLS = {"x86_64": {"process_vm_readv": 310, "openat": 257}, "aarch64": {"process_vm_readv": 270, "openat": 56}}


class Held:
    """A command that is stopped at the first system call that `wanted` is true of."""

    def __init__(self, words):
        if platform.machine() not in CALLS:
            live.unavailable("the numbers of the system calls are not known here")
        self.has_read = False
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        self.process = subprocess.Popen(["sh", "-c", 'read line; exec "$@"', "sh", *map(str, words)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def trace(self, request):
        if self.libc.ptrace(request, self.process.pid, None, None) != 0:
            live.unavailable("ptrace: " + os.strerror(ctypes.get_errno()))

    def call(self):
        """Number and arguments of the system call that it is in."""
        with open("/proc/%d/syscall" % self.process.pid, encoding="ascii") as file:
            return [int(word, 0) for word in file.read().split()]

    def text_at(self, address):
        with open("/proc/%d/mem" % self.process.pid, "rb") as file:
            file.seek(address)
            return file.read(256).partition(b"\0")[0].decode()

    def hold(self, wanted):
        self.trace(SEIZE)
        self.trace(INTERRUPT)
        os.waitpid(self.process.pid, WALL)
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        while True:
            self.trace(SYSCALL)
            _, status = os.waitpid(self.process.pid, WALL)
            assert os.WIFSTOPPED(status), "it has ended before that call"
            if os.WSTOPSIG(status) == signal.SIGTRAP and wanted(self):
                return

    def finish(self):
        """Lets it go on; gives its status and what it printed."""
        self.trace(DETACH)
        out, err = self.process.communicate(timeout=live.DEADLINE_S)
        return self.process.returncode, out, err


def reads_memory(held):
    return held.call()[0] == CALLS[platform.machine()]["process_vm_readv"]


def looks_once_more(held):
    """The first file that it opens to see whether the process is still the same, after memory was read."""
    held.has_read = held.has_read or reads_memory(held)
    call = held.call()
    return held.has_read and call[0] == CALLS[platform.machine()]["openat"] and held.text_at(call[2]).endswith("/stat")

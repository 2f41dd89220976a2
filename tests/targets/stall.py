# SPDX-License-Identifier: Apache-2.0
"""A program whose memory blocks its readers: `stall.py SECONDS [WORD...]`.

After so many seconds the page that has a thread's state is under a userfaultfd that nobody
answers. Prints {"pid": ..} first, or {"skip": why}; ends with its standard input.
"""

import ctypes
import json
import mmap
import os
import platform
import sys
import threading
import time

USERFAULTFD = {"x86_64": 323, "aarch64": 282}
UFFDIO_API, UFFDIO_REGISTER = 0xC018AA3F, 0xC020AA00
MADV_DONTNEED = 4

libc = ctypes.CDLL(None, use_errno=True)
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
libc.ioctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p]


def require(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def register(page):
    """From now on nobody gets that page once it is dropped."""
    fd = require(libc.syscall(USERFAULTFD[platform.machine()], os.O_CLOEXEC))
    api = (ctypes.c_uint64 * 3)(0xAA, 0, 0)
    require(libc.ioctl(fd, UFFDIO_API, api))
    missing = 1
    require(libc.ioctl(fd, UFFDIO_REGISTER, (ctypes.c_uint64 * 4)(page, mmap.PAGESIZE, missing, 0)))


def stall(after_s, ready):
    ctypes.pythonapi.PyThreadState_Get.restype = ctypes.c_void_p
    page = ctypes.pythonapi.PyThreadState_Get() & -mmap.PAGESIZE
    try:
        register(page)
    except (OSError, KeyError) as error:
        ready.append({"skip": "userfaultfd: %s" % error})
        return
    ready.append({"pid": os.getpid()})
    time.sleep(after_s)
    libc.madvise(page, mmap.PAGESIZE, MADV_DONTNEED)  # and there this thread stays


def main():
    ready = []
    threading.Thread(target=stall, args=(float(sys.argv[1]), ready), daemon=True).start()
    while not ready:
        time.sleep(0.01)
    os.write(1, (json.dumps(ready[0]) + "\n").encode())
    os.read(0, 1)
    os._exit(0)


main()

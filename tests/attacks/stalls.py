# SPDX-License-Identifier: Apache-2.0
"""Processes whose readers do not die: stalls.py FILE [MARK].

FILE is on a file system that does not answer. A process after the other puts a page of it under the stack of a
thread, so that whoever reads that stack waits for the file system, and ends after a few seconds. Python 3.11 or later.
"""

import ctypes
import os
import sys
import threading
import time

PERIOD_S, LIFE_S = 0.4, 4
PROT_READ_WRITE, MAP_PRIVATE_FIXED = 3, 0x12
FRAME_OF_OBJECT = 24  # PyFrameObject.f_frame: where the stack of a running function is
PAGE = 4096

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]


def stall(fd):
    """Has another thread sleep on such a page."""
    frames, sleeps = [], threading.Event()

    def sleep():
        frames.append(ctypes.c_void_p.from_address(id(sys._getframe()) + FRAME_OF_OBJECT).value)
        sleeps.set()
        libc.sleep(1000)

    threading.Thread(target=sleep, daemon=True).start()
    sleeps.wait()
    time.sleep(0.05)
    libc.mmap(frames[0] & -PAGE, PAGE, PROT_READ_WRITE, MAP_PRIVATE_FIXED, fd, 0)


def live_on(fd):
    stall(fd)
    time.sleep(LIFE_S)
    os._exit(0)


def main():
    fd = os.open(sys.argv[1], os.O_RDONLY)
    print("{}", flush=True)
    while True:
        if os.fork() == 0:
            live_on(fd)
        time.sleep(PERIOD_S)
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


main()

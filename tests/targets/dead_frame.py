# SPDX-License-Identifier: Apache-2.0
"""Programs whose stacks block whoever reads them so that not even SIGKILL helps: `dead_frame.py FILE COUNT WORD`.

FILE is a name in integration/dead_files.py, mounted without `kill`. With %d in it, which stands for the pid, each process
has a file of its own; else all readers but the first wait for its page, and SIGKILL ends them. COUNT processes run at a
time: each puts a page of the file over the frames of a thread, and is replaced by another one after two seconds. Prints
{"pid": ..} of the parent first; after SIGUSR1 it starts no more of them, but runs a program with the same words that
sleeps in peace.

CPython 3.11 and later: a thread's frames lie in chunks of mmap'd memory (Python/pystate.c, push_chunk); the first word of
a frame object that is not of the heap leads there (Include/internal/pycore_frame.h, f_frame).
"""

import ctypes
import json
import os
import signal
import sys
import threading
import time

PAGE = 4096
PR_SET_PDEATHSIG = 1
PROTECTION, FIXED_PRIVATE = 3, 0x12

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]


def sleep_in_frame(frames):
    frames.append(ctypes.c_void_p.from_address(id(sys._getframe()) + 24).value)
    libc.sleep(3600)


def block(path):
    frames = []
    threading.Thread(target=sleep_in_frame, args=(frames,), daemon=True).start()
    while not frames:
        time.sleep(0.001)
    time.sleep(0.05)
    libc.mmap(frames[0] & -PAGE, PAGE, PROTECTION, FIXED_PRIVATE, os.open(path.replace("%d", str(os.getpid())), os.O_RDONLY), 0)
    time.sleep(3600)


def start(path):
    pid = os.fork()
    if pid == 0:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        block(path)
    return pid, time.monotonic()


def main():
    running, peace = [], []
    signal.signal(signal.SIGUSR1, lambda *_: peace.append(True))
    os.write(1, (json.dumps({"pid": os.getpid()}) + "\n").encode())
    while not peace:
        while len(running) < int(sys.argv[2]):
            running.append(start(sys.argv[1]))
        time.sleep(0.05)
        for pid, began in running[:]:
            if time.monotonic() > began + 2:
                running.remove((pid, began))
                os.kill(pid, signal.SIGKILL)
        while running and os.waitpid(-1, os.WNOHANG)[0]:
            pass
    for pid, _ in running:
        os.kill(pid, signal.SIGKILL)
    time.sleep(3600)


main()

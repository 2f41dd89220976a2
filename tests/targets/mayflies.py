# SPDX-License-Identifier: Apache-2.0
"""Forks COUNT children that come and go in their own stacks, maps and threads, and kills each while
it is at it. Prints the pid of each, a line each, once it is there.
"""

import mmap
import os
import random
import signal
import sys
import threading
import time

LIFE_S = 0.004  # at most


def dive(depth):
    """Frames, and memory that is mapped and unmapped, all the time."""
    piece = mmap.mmap(-1, 1 << 16)
    try:
        return dive(depth - 1) if depth else len(piece)
    finally:
        piece.close()


def live(ready):
    threading.Thread(target=lambda: [dive(30) for _ in iter(int, 1)], daemon=True).start()
    os.write(ready, b".")
    while True:
        dive(random.randrange(200))


def main():
    dice = random.Random(1)
    for _ in range(int(sys.argv[1])):
        done, ready = os.pipe()
        pid = os.fork()
        if pid == 0:
            live(ready)
        os.read(done, 1)
        print(pid, flush=True)
        time.sleep(dice.uniform(0, LIFE_S))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(done)
        os.close(ready)


main()

# SPDX-License-Identifier: Apache-2.0
"""Many processes with many threads that mostly sleep: idlers.py MARK PROCESSES THREADS EVERY_S WORK_MS.

All are forked from one interpreter, so that a thousand of them fit into memory. One thread of each
works for WORK_MS about every EVERY_S seconds. Says "ready" when all are there; ends with its
standard input.
"""

import os
import random
import signal
import sys
import threading
import time


def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(100))


def idle(every_s, work_s):
    """Sleeps, and works now and then, at times that have nothing to do with those of others."""
    dice = random.Random(os.getpid())
    time.sleep(dice.uniform(0, every_s))
    while True:
        work(work_s)
        time.sleep(dice.uniform(0.5, 1.5) * every_s)


def live(threads, every_s, work_s, ready):
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for _ in range(threads - 1):
        threading.Thread(target=threading.Event().wait, daemon=True).start()
    os.write(ready, b".")
    idle(every_s, work_s)


def main():
    processes, threads = int(sys.argv[2]), int(sys.argv[3])
    every_s, work_s = float(sys.argv[4]), float(sys.argv[5]) / 1000
    threading.stack_size(64 << 10)
    done, ready = os.pipe()
    pids = []
    for _ in range(processes):
        pid = os.fork()
        if pid == 0:
            live(threads, every_s, work_s, ready)
        pids.append(pid)
    left = processes
    while left:
        left -= len(os.read(done, left))
    print("ready", *pids, flush=True)
    sys.stdin.read()
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
    for pid in pids:
        os.waitpid(pid, 0)


main()

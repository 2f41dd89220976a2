# SPDX-License-Identifier: Apache-2.0
"""Many processes with many threads that mostly sleep: idlers.py MARK PROCESSES THREADS EVERY_S WORK_MS DEPTH [fresh].

All are forked from one interpreter, so that a thousand of them fit into little memory; with "fresh"
each is an interpreter that was started anew (some 6 MB). One thread of each works for WORK_MS about
every EVERY_S seconds; all do what they do DEPTH calls deep. Says "ready" when all are there; ends with its standard input.
"""

import os
import random
import signal
import sys
import threading
import time

AT_ONCE = 8  # are being started, so that others on the machine go on
FRAME_BYTES = 1 << 10  # of the C stack, that a Python call takes where it takes any


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


def dive(depth, function, *args):
    """Calls it so deep."""
    return dive(depth - 1, function, *args) if depth else function(*args)


def live(threads, every_s, work_s, depth, ready):
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.setrecursionlimit(depth + 1000)
    for _ in range(threads - 1):
        threading.Thread(target=dive, args=(depth, threading.Event().wait), daemon=True).start()
    os.write(ready, b".")
    dive(depth, idle, every_s, work_s)


def start(live_on, ready):
    """One process; gives its pid. An interpreter of its own is told where to say that it is ready."""
    if sys.argv[7:] == ["fresh"]:
        return os.posix_spawn(sys.executable, [sys.executable, *sys.argv[:7], "one=%d" % ready], os.environ)
    pid = os.fork()
    if pid == 0:
        live_on(ready)
    return pid


def main():
    processes, threads = int(sys.argv[2]), int(sys.argv[3])
    every_s, work_s, depth = float(sys.argv[4]), float(sys.argv[5]) / 1000, int(sys.argv[6])
    threading.stack_size((64 << 10) + depth * FRAME_BYTES)

    def live_on(ready):
        live(threads, every_s, work_s, depth, ready)

    mode = sys.argv[7] if sys.argv[7:] else "fork"
    if mode.startswith("one="):
        live_on(int(mode[4:]))
    if mode not in ("fork", "fresh"):
        sys.exit("%s is not known" % mode)
    done, ready = os.pipe()
    os.set_inheritable(ready, True)
    pids, there = [], 0
    while there < processes:
        while len(pids) < min(processes, there + AT_ONCE):
            pids.append(start(live_on, ready))
        there += len(os.read(done, processes))
    print("ready", *pids, flush=True)
    sys.stdin.read()
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
    for pid in pids:
        os.waitpid(pid, 0)


main()

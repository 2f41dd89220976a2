# SPDX-License-Identifier: Apache-2.0
"""A program that counts its own work while it is profiled: tools_target.py WORKLOAD COUNTERS.

    cpu        one thread that computes: loops and calls
    mixed20    twenty threads, each 2 ms of work, then about 100 ms asleep
    sleeping   one thread that works 0.1 ms every 20 ms, four that wait for a queue
    pagefault  one thread that maps, touches and unmaps memory
    parked100  one thread that computes, a hundred that wait for an event

COUNTERS is a file of SLOTS numbers of eight bytes, one a thread, which is mapped: whoever
reads it knows how much was done at any moment, without asking. Prints {"pid"} when it runs.
Ends when its standard input does, by the kernel's SIGIO: no thread waits for that.
"""

import fcntl
import json
import mmap
import os
import queue
import random
import signal
import sys
import threading
import time

SLOTS = 64


def end_with_the_input():
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)


def say_ready():
    sys.stdout.write(json.dumps({"pid": os.getpid()}) + "\n")
    sys.stdout.flush()


def squares(count):
    total = 0
    for number in range(count):
        total += number * number % 7
    return total


def join(count):
    return "-".join(str(number) for number in range(count))


def compute():
    """Some 30 us in a few calls."""
    return squares(200) + len(join(40))


def cpu(counters):
    say_ready()
    while True:
        compute()
        counters[0] += 1


def pooled(counters, slot):
    pause = random.Random(slot)
    while True:
        for _ in range(60):
            compute()
        counters[slot] += 1
        time.sleep(pause.uniform(0.09, 0.11))


def mixed20(counters):
    for slot in range(1, 20):
        threading.Thread(target=pooled, args=(counters, slot), daemon=True).start()
    say_ready()
    pooled(counters, 0)


def sleeping(counters):
    never = queue.Queue()
    for _ in range(4):
        threading.Thread(target=never.get, daemon=True).start()
    say_ready()
    while True:
        for _ in range(3):
            compute()
        counters[0] += 1
        time.sleep(0.02)


def touch(size):
    with mmap.mmap(-1, size) as area:
        for at in range(0, size, 4096):
            area[at] = 1


def pagefault(counters):
    say_ready()
    done = 0
    while True:
        touch(2 << 20)
        for _ in range(20):
            touch(8192)
        if done % 16 == 0:
            len("x" * (40 << 20))
        done += 1
        counters[0] = done


def parked100(counters):
    never = threading.Event()
    for _ in range(100):
        threading.Thread(target=never.wait, daemon=True).start()
    cpu(counters)


def main():
    workloads = {"cpu": cpu, "mixed20": mixed20, "sleeping": sleeping, "pagefault": pagefault, "parked100": parked100}
    end_with_the_input()
    with open(sys.argv[2], "r+b") as file:
        counters = memoryview(mmap.mmap(file.fileno(), SLOTS * 8)).cast("Q")
    workloads[sys.argv[1]](counters)


main()

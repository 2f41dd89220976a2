# SPDX-License-Identifier: Apache-2.0
"""Hangs in one of the ways that a watchdog is to see, or only looks as if it did.

Prints its pid as JSON, and does that until it is killed: nothing of it waits for its input, as a
process of which a thread reads does not hang.

    hangs.py WHAT SECONDS
"""

import ctypes
import json
import os
import queue
import re
import select
import socket
import sys
import threading
import time

LOOPS = 1 << 62


def hold(seconds):
    """One call of C code that sleeps with the GIL."""
    ctypes.PyDLL(None).usleep(int(seconds * 1e6))


def often(seconds):
    """Stuck, goes on, and is stuck again."""
    while True:
        hold(seconds)
        time.sleep(1)


def regex(_):
    """A regular expression that takes for ever: C code on a CPU."""
    re.match("(a+)+$", "a" * 60 + "b")


def task(_):
    """A task that is stuck, while another waits."""
    import asyncio  # pylint: disable=import-outside-toplevel

    async def main():
        other = asyncio.create_task(asyncio.sleep(3600), name="patient")
        await asyncio.sleep(0.1)
        hold(3600)
        await other

    asyncio.run(main())


def deadlock(_):
    """Two threads that wait for each other's lock, and one that waits for them."""
    locks = [threading.Lock(), threading.Lock()]
    both = threading.Barrier(2)

    def cross(mine, other):
        with mine:
            both.wait()
            with other:
                pass

    threads = [threading.Thread(target=cross, args=order, name="cross") for order in (locks, locks[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def run(*functions):
    for function in functions:
        threading.Thread(target=function, daemon=True).start()


def workers(_, make=threading.Lock, rest=lambda: time.sleep(0.02)):
    """Two threads that wait for each other's lock, while others go on."""
    locks = [make(), make()]
    both = threading.Barrier(2)

    def work(mine, other):
        with mine:
            with make():
                both.wait()
            inner(other)

    def inner(lock):
        with lock:
            pass

    run(*(lambda order=order: work(*order) for order in (locks, locks[::-1])), queue.Queue().get)
    while True:
        rest()


def reentrant(_):
    """The same with RLock, and a main thread that sleeps."""
    workers(_, threading.RLock, lambda: time.sleep(3600))


def pool(_):
    """Idle workers."""
    import concurrent.futures  # pylint: disable=import-outside-toplevel
    with concurrent.futures.ThreadPoolExecutor(4) as executor:
        for _ in executor.map(time.sleep, [0.1] * 8):
            pass
        run(queue.Queue().get, queue.Queue().get, queue.SimpleQueue().get, threading.Event().wait, threading.Semaphore(0).acquire)
        time.sleep(3600)


def holder(_):
    """Threads that wait for locks that one which sleeps has, and had those of each other before."""
    locks = [threading.Lock(), threading.Lock()]
    before = threading.Barrier(3)

    def work(mine, other):
        with mine:
            with mine if mine.acquire(False) else threading.Lock():
                pass
        before.wait()
        before.wait()
        with other:
            pass

    run(*(lambda order=order: work(*order) for order in (locks, locks[::-1])))
    before.wait()
    with locks[0], locks[1]:
        before.wait()
        time.sleep(3600)


def contended(_):
    """Threads that wait for one that works with the lock, and for each other in turn."""
    lock, other = threading.Lock(), threading.Lock()

    def wait():
        with other, lock:
            pass

    with lock:
        run(wait, wait, wait)
        while True:
            sum(range(10000))
            time.sleep(0.01)


def server(_):
    """Idle: waits for a connection, and its worker for work."""
    threading.Thread(target=queue.Queue().get, daemon=True).start()
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(1)
        listening.accept()


def sleeper(_):
    """One long call that waits without the GIL."""
    select.select([], [], [], 3600)


def loop(_):
    """The same few instructions again and again: nearly all of the time in C code that keeps the GIL."""
    large = 3 ** 9000
    for step in range(LOOPS):
        pow(large + step, 3)


def short(seconds):
    """C code keeps the GIL for less long, again and again."""
    for step in range(LOOPS):
        hold(seconds / 4 + step * 1e-6)


print(json.dumps({"pid": os.getpid()}), flush=True)
globals()[sys.argv[1]](float(sys.argv[2]))

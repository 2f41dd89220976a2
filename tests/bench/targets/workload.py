# SPDX-License-Identifier: Apache-2.0
"""A program that does one thing for ever, to be sampled: workload.py NAME.

    busy               one loop
    basic              Fibonacci numbers, roots and strings, then 1 ms asleep
    fib_busy           recursive Fibonacci numbers, never asleep
    deep900_sleep      900 calls deep, asleep
    deep100_busyleaf   100 calls deep, where two short functions are called in turn and do all the work
    threads100_idle    100 threads that wait for events
    threads20_mixed    20 threads, each computing a while, then asleep, at random
    async10, async100, async1000
                       that many tasks in chains of five that await each other; the last ones compute
    subinterp3         three interpreters, a busy thread in each
    generators         a busy loop over generators in generators
    threads=N, depth=N, tasks=N
                       threads100_idle, deep100_busyleaf and async100 with other numbers

Prints {"pid"} when it is there. Ends when its standard input does, without a thread that would
wait for that: the kernel is asked for a SIGIO. Source that CPython 3.6 to 3.15 all read; tasks
take 3.7, interpreters 3.8.
"""

import asyncio
import fcntl
import functools
import json
import math
import os
import random
import signal
import sys
import threading
import time

CHAIN = 5  # tasks that await each other


def end_with_the_input():
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)


def say_ready():
    os.write(1, json.dumps({"pid": os.getpid()}).encode() + b"\n")


def sleep_on():
    while True:
        time.sleep(1000)


def busy():
    say_ready()
    total = 0
    while True:
        total = (total + 7) % 1000003


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def roots(count):
    return sum(math.sqrt(n) * math.sin(n) for n in range(count))


def words(count):
    return "-".join(str(n).upper() for n in range(count))


def basic():
    say_ready()
    while True:
        fibonacci(10)
        roots(50)
        words(50)
        time.sleep(0.001)


def fib_busy():
    say_ready()
    while True:
        fibonacci(16)


def deep_asleep(more):
    if more:
        deep_asleep(more - 1)
    else:
        say_ready()
        sleep_on()


def leaf_of_one(n):
    for step in range(30):
        n = n * 3 + step & 0xffff
    return n


def leaf_of_two(n):
    for step in range(30):
        n = n * 5 + step & 0xffff
    return n


def deep_busy(more):
    if more:
        deep_busy(more - 1)
        return
    say_ready()
    total = 0
    while True:
        total = leaf_of_one(total)
        total = leaf_of_two(total)


def idle_threads(count):
    events = [threading.Event() for _ in range(count)]
    for event in events:
        threading.Thread(target=event.wait, daemon=True).start()
    time.sleep(0.3)
    say_ready()
    sleep_on()


def compute_or_sleep():
    draw = random.Random(threading.get_ident()).random
    while True:
        if draw() < 0.3:
            roots(6000)
        else:
            time.sleep(0.1)


def mixed_threads(count):
    for _ in range(count):
        threading.Thread(target=compute_or_sleep, daemon=True).start()
    time.sleep(0.3)
    say_ready()
    sleep_on()


async def last_task(starting):
    starting.pop()
    if not starting:
        say_ready()
    await asyncio.sleep(0)
    total = 0
    while True:
        for _ in range(500000):  # so long that the loop around the tasks is hardly ever seen
            total = (total + 7) % 1000003
        await asyncio.sleep(0)


async def task_above(more, starting):
    await asyncio.ensure_future(task_above(more - 1, starting) if more > 1 else last_task(starting))


async def await_all(count):
    lengths = [CHAIN] * (count // CHAIN) + [count % CHAIN] * (count % CHAIN > 0)
    starting = list(lengths)
    await asyncio.gather(*[task_above(n - 1, starting) if n > 1 else last_task(starting) for n in lengths])


def tasks(count):
    asyncio.run(await_all(count))


INSIDE = """
import os
def compute():
    total = 0
    while True:
        total = (total + 7) % 1000003
def start():
    os.write({fd}, b"x")
    compute()
start()
"""


def run_inside(fd):
    script = INSIDE.format(fd=fd)
    if sys.version_info >= (3, 13):
        import _interpreters
        _interpreters.run_string(_interpreters.create("isolated"), script)
    else:
        import _xxsubinterpreters
        _xxsubinterpreters.run_string(_xxsubinterpreters.create(), script)


def interpreters(count):
    heard, said = os.pipe()
    for _ in range(count):
        threading.Thread(target=run_inside, args=(said,), daemon=True).start()
        os.read(heard, 1)
    say_ready()
    sleep_on()


def nested(more):
    if more:
        for item in nested(more - 1):
            yield item
    else:
        for item in range(1000):
            for _ in range(item & 63):  # sometimes still for as long as a sample takes
                item = (item + 7) % 1000003
            yield item


def generators():
    say_ready()
    while True:
        for _ in nested(10):
            pass


def deep(frames):
    """As many frames as that, from 3 on, the module's and a leaf's among them."""
    return functools.partial(deep_busy, max(frames - 3, 0))


NAMED = {
    "busy": busy, "basic": basic, "fib_busy": fib_busy, "generators": generators,
    "deep900_sleep": functools.partial(deep_asleep, 898), "deep100_busyleaf": deep(102),
    "threads100_idle": functools.partial(idle_threads, 100),
    "threads20_mixed": functools.partial(mixed_threads, 20), "subinterp3": functools.partial(interpreters, 3),
    "async10": functools.partial(tasks, 10), "async100": functools.partial(tasks, 100),
    "async1000": functools.partial(tasks, 1000),
}
NUMBERED = {"threads": idle_threads, "tasks": tasks}


def choose(name):
    kind, _, number = name.partition("=")
    if kind == "depth":
        return deep(int(number))
    return functools.partial(NUMBERED[kind], int(number)) if number else NAMED[name]


if __name__ == "__main__":
    end_with_the_input()
    sys.setrecursionlimit(20000)
    if sys.argv[1] == "depth=1":
        say_ready()
        while True:
            pass
    choose(sys.argv[1])()

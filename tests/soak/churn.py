# SPDX-License-Identifier: Apache-2.0
"""A prefork server without the server: churn.py MARK WORKERS LIFE_S.

Keeps so many workers, each with two threads, for about LIFE_S seconds each, then replaces them;
beside them short-lived children that run no Python. Says "ready" when the first workers are there;
ends with its standard input.
"""

import os
import random
import select
import signal
import sys
import threading
import time


def make_work(dice):
    """A function that nobody has seen before, as an application's templates and queries are."""
    name = "query_%d" % dice.randrange(10 ** 6)
    space = {}
    exec("def %s(n):\n    return sum(i * i for i in range(n))\n" % name, space)
    return space[name]


def work(until, dice):
    functions = [make_work(dice) for _ in range(20)]
    while time.monotonic() < until:
        dice.choice(functions)(2000)
        time.sleep(0.02)


def live(life_s):
    """What a worker does."""
    dice = random.Random(os.getpid())
    until = time.monotonic() + life_s * dice.uniform(0.5, 1.5)
    waiter = threading.Thread(target=work, args=(until, dice))
    waiter.start()
    work(until, dice)
    waiter.join()


def spawn(life_s):
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            live(life_s)
            status = 0
        finally:
            os._exit(status)
    return pid


def main():
    workers, life_s = int(sys.argv[2]), float(sys.argv[3])
    mine = {spawn(life_s) for _ in range(workers)}
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], 0.05)[0]:
        os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
        ended, _ = os.waitpid(-1, os.WNOHANG)
        if ended:
            mine.discard(ended)
            mine.add(spawn(life_s))
    for pid in mine:
        os.kill(pid, signal.SIGTERM)


main()

# SPDX-License-Identifier: Apache-2.0
"""Switches between greenlets of 50 frames: greenlets.py greenlet|gevent COUNT lasting|ending FOLDER.

The packages are in FOLDER.

The functions of each greenlet carry its number: root_7 calls step_7, which calls itself until leaf_7 gives way again and
again. Prints its pid when all of them do. Half the way down a step is called by C code. If they are "ending", every
tenth greenlet ends after a few turns and is replaced.
"""

import os
import sys

STEPS = 48
SOURCE = """
def root_{n}(turns):
    return step_{n}({steps}, turns)

def step_{n}(depth, turns):
    if depth == 1:
        return leaf_{n}(turns)
    if depth == {half}:
        return list(map(step_{n}, [depth - 1], [turns]))
    return step_{n}(depth - 1, turns)

def leaf_{n}(turns):
    while turns != 0:
        give_way()
        turns -= 1
"""
FOREVER, TWICE = -1, 2


def make_root(number, lifetime, give_way):
    names = {"give_way": give_way}
    source = SOURCE.format(n=number, steps=STEPS, half=STEPS // 2)
    exec(compile(source, "greenlet_%d" % number, "exec"), names)
    return names["root_%d" % number], TWICE if lifetime == "ending" and number % 10 == 0 else FOREVER


def say_ready():
    print(os.getpid(), flush=True)


def run_greenlets(count, lifetime):
    import greenlet

    main = greenlet.getcurrent()
    roots = [make_root(number, lifetime, main.switch) for number in range(count)]
    running = [greenlet.greenlet(root) for root, _ in roots]
    for (_, turns), one in zip(roots, running):
        one.switch(turns)
    say_ready()
    while True:
        for number, (root, turns) in enumerate(roots):
            if running[number].dead:
                running[number] = greenlet.greenlet(root)
            if running[number]:
                running[number].switch()
            else:
                running[number].switch(turns)


def spawn(root, turns):
    import gevent

    def spawn_again(_):
        spawn(root, turns)

    gevent.spawn(root, turns).link(spawn_again)


def run_gevent(count, lifetime):
    import gevent

    for number in range(count):
        spawn(*make_root(number, lifetime, lambda: gevent.sleep(0)))
    for _ in range(3):
        gevent.sleep(0)
    say_ready()
    while True:
        gevent.sleep(60)


if __name__ == "__main__":
    library, how_many, how_long, folder = sys.argv[1:]
    sys.path.insert(0, folder)
    {"greenlet": run_greenlets, "gevent": run_gevent}[library](int(how_many), how_long)

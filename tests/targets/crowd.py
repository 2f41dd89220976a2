# SPDX-License-Identifier: Apache-2.0
"""Threads that do different things at full speed, so that only a look at one moment is consistent.

MainThread      waits for its standard input to end, then ends
climber         calls down() 50 deep and back, without end
guest-1, -2     call inside() under one lock, without end: never both at once
ESC[2J handler  sleeps in handling(), in the handler of an exception

Prints {"pid", "file"}. Source that CPython 3.6 to 3.15 all read.
"""

import json
import os
import sys
import threading
import time

DEPTH = 50
ROOM = threading.Lock()


def down(more):
    if more:
        return down(more - 1)
    return 0


def climb():
    while True:
        down(DEPTH)


def inside():
    total = 0
    for number in range(100):
        total += number
    return total


def visit():
    while True:
        with ROOM:
            inside()


def handling():
    try:
        raise ValueError("handled while the reader looks")
    except ValueError:
        time.sleep(3600)


def start(name, function):
    threading.Thread(target=function, name=name, daemon=True).start()


def main():
    start("climber", climb)
    start("guest-1", visit)
    start("guest-2", visit)
    start("\x1b[2J handler", handling)
    sys.stdout.write(json.dumps({"pid": os.getpid(), "file": os.path.abspath(__file__)}) + "\n")
    sys.stdout.flush()
    while os.read(0, 4096):
        pass
    os._exit(0)


main()

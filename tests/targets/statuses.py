# SPDX-License-Identifier: Apache-2.0
"""Threads that each are in one known state, by the name of the state.

    statuses.py STATE...    a thread for each; prints {"pid": ..., "tids": {STATE: tid}} when
                            all are there, and ends when its standard input does

Source that CPython 3.6 to 3.15 all read; from 3.8 on it needs no extension module.
"""

import gc
import json
import os
import sys
import threading
import time
import types


def native_id():
    """The kernel's id of this thread (threading.get_native_id came with 3.8)."""
    if hasattr(threading, "get_native_id"):
        return threading.get_native_id()
    import ctypes
    import platform

    return ctypes.CDLL(None).syscall({"x86_64": 186, "aarch64": 178}[platform.machine()])


# The function in which a thread stays.
LEAVES = {"spin": "spin", "spin2": "spin", "collect": "collect", "collect_finalizer": "spin"}


def rest(place):
    place.arrive()
    while True:
        time.sleep(1000)


# Each takes the place and tells it when the state is reached.


def sleep(place):
    rest(place)


def spin(place):
    place.arrive()
    count = 0
    while True:
        count += 1


def spin2(place):
    spin(place)


def handles(place):
    try:
        raise ValueError("handled while the reader looks")
    except ValueError:
        rest(place)


def handles_in_callee(place):
    try:
        raise ValueError("the caller handles it")
    except ValueError:
        sleep(place)


def finally_of_raise(place):
    try:
        raise ValueError("passes through")
    finally:
        rest(place)


def handled_before(place):
    try:
        raise ValueError("over when the reader looks")
    except ValueError:
        pass
    rest(place)


def handled_by_callee(place):
    def fails():
        try:
            raise ValueError("over when the reader looks")
        except ValueError:
            return 1

    fails()
    rest(place)


def handled_inner(place):
    try:
        raise ValueError("still handled when the reader looks")
    except ValueError:
        handled_before(place)


def generator_that_handles(place):
    try:
        raise KeyError("handled in a generator")
    except KeyError:
        yield 1
        rest(place)


def in_generator(place):
    for _ in generator_that_handles(place):
        pass


def generator_left(place):
    generator = generator_that_handles(place)
    next(generator)  # it waits in its handler; who asked it does not handle anything
    rest(place)


def handles_around_generator(place):
    def plain():
        yield 1
        rest(place)

    try:
        raise KeyError("handled below the generator")
    except KeyError:
        for _ in plain():
            pass


@types.coroutine
def bridge():
    yield 1


async def coroutine_that_handles(place):
    try:
        raise KeyError("handled in a coroutine")
    except KeyError:
        await bridge()
        rest(place)


async def coroutine_around(place):
    await coroutine_that_handles(place)


def in_coroutine(place):
    coroutine = coroutine_around(place)
    coroutine.send(None)
    coroutine.send(None)


def collect(place):
    kept = [[number] for number in range(100000)]
    place.arrive()
    while kept:
        gc.collect()


def collect_finalizer(place):
    """A finalizer that runs in the collection, for ever."""

    class Loop:
        def __init__(self):
            self.self = self

        def __del__(self):
            spin(place)

    Loop()
    gc.disable()
    gc.collect()


def by_key(place):
    return sorted([1], key=lambda item: plain(place))


def plain(place):
    return mapped(place)


def mapped(place):
    return list(map(lambda item: rest(place), [2]))


def native(place):
    return by_key(place)


class Place:
    """One thread and the state that it is to reach."""

    def __init__(self, state):
        self.state = state
        self.tid = self.ident = None
        self.there = threading.Event()

    def run(self):
        self.tid, self.ident = native_id(), threading.get_ident()
        globals()[self.state](self)

    def arrive(self):
        self.there.set()

    def stays(self):
        """True once it is back from telling that it is there."""
        frame = sys._current_frames()[self.ident]
        return frame.f_code.co_name == LEAVES.get(self.state, "rest")


def main():
    sys.setswitchinterval(0.001)
    places = [Place(state) for state in sys.argv[1:]]
    for place in places:
        threading.Thread(target=place.run, name=place.state, daemon=True).start()
        place.there.wait()
    while not all(place.stays() for place in places):
        time.sleep(0.001)
    tids = {place.state: place.tid for place in places}
    os.write(1, json.dumps({"pid": os.getpid(), "main": native_id(), "tids": tids}).encode() + b"\n")
    while os.read(0, 4096):
        pass
    os._exit(0)


main()

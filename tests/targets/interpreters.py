# SPDX-License-Identifier: Apache-2.0
"""Threads that wait in sub-interpreters, and what a reader from outside must see of them.

    interpreters.py         prints {"pid": ..., "threads": [{"tid", "interpreter", "functions"}]}
                            and ends when its standard input does; "functions" has the innermost
                            first, "interpreter" is the one that runs on top

Source that CPython 3.8 to 3.15 all read.
"""

import json
import os
import sys
import threading
import time

try:
    import _interpreters as interpreters  # 3.13 and later
except ImportError:
    import _xxsubinterpreters as interpreters

INNER = """
import os
def inner_leaf():
    os.write(%(ready)d, b"x")
    os.read(%(wait)d, 1)
def inner_root():
    inner_leaf()
inner_root()
"""

NESTED = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
def middle(other, script):
    interpreters.run_string(other, script)
middle(%(other)d, %(script)r)
"""


def create(own_gil):
    """A new interpreter; before 3.12 all share one GIL."""
    if sys.version_info >= (3, 13):
        return interpreters.create("isolated" if own_gil else "legacy")
    if sys.version_info >= (3, 12):
        return interpreters.create(isolated=own_gil)
    return interpreters.create()


class Inside:
    """A thread that makes interpreters and waits in the last one.

    It makes them itself: before 3.13 the state that run_string uses says for ever that it belongs
    to the thread which made the interpreter.
    """

    def __init__(self, name, own_gil, nested=False):
        self.name, self.own_gil, self.nested = name, own_gil, nested
        self.tid = self.interpreter = None
        self.functions = ["inner_leaf", "inner_root", "<module>"]
        self.pipes, self.ready = waiting()

    def enter(self):
        self.tid = threading.get_native_id()
        self.interpreter = outer = create(self.own_gil)
        script = INNER % self.pipes
        if self.nested:  # the older interpreter on top of the newer one
            outer = create(self.own_gil)
            script = NESTED % {"other": int(self.interpreter), "script": script}
            self.functions += ["middle", "<module>"]
        interpreters.run_string(outer, script)

    def run(self):
        threading.Thread(target=self.enter, name=self.name, daemon=True).start()
        os.read(self.ready, 1)
        below = ["Inside.enter", "Thread.run", "Thread._bootstrap_inner", "Thread._bootstrap"]
        return {"tid": self.tid, "interpreter": int(self.interpreter), "name": self.name,
                "functions": self.functions + below}


def waiting():
    """(what a script fills in, where one hears that it got there)."""
    ready, wait = os.pipe(), os.pipe()
    return {"ready": ready[1], "wait": wait[0]}, ready[0]


class Returned:
    """A thread that was in another interpreter and is back."""

    def __init__(self):
        self.there = threading.Event()
        self.tid = None

    def enter(self):
        self.tid = threading.get_native_id()
        interpreters.run_string(create(False), "def leave(): pass\nleave()")
        self.there.set()
        self.stay()

    def stay(self):
        while True:
            time.sleep(1000)

    def run(self):
        threading.Thread(target=self.enter, name="returned", daemon=True).start()
        self.there.wait()
        return {"tid": self.tid, "interpreter": 0, "name": "returned",
                "functions": ["Returned.stay", "Returned.enter", "Thread.run", "Thread._bootstrap_inner",
                              "Thread._bootstrap"]}


def main():
    threads = [Inside("own GIL", True).run(), Inside("one GIL", False).run(), Returned().run()]
    if sys.version_info >= (3, 11):  # older ones do not say which is on top
        threads.append(Inside("nested", False, True).run())
    os.write(1, json.dumps({"pid": os.getpid(), "main": os.getpid(), "threads": threads}).encode() + b"\n")
    while os.read(0, 4096):
        pass
    os._exit(0)


main()

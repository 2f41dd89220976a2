# SPDX-License-Identifier: Apache-2.0
"""Threads and interpreters one after another, as a line of JSON says at the end: by its own clocks.

identities.py threads|renames|interpreter|shutdown: {"FUNCTION": {"cpu": seconds, "name": of its thread, "tid": ...}}
"""

import ctypes
import json
import os
import platform
import sys
import threading
import time

SPIN = """
def %(name)s(seconds, clock):
    end = clock() + seconds
    while clock() < end:
        for _ in range(1000):
            pass
"""
SECONDS = 0.25
own = {}


def clock():
    return time.clock_gettime(time.CLOCK_THREAD_CPUTIME_ID)


def tid():
    return ctypes.CDLL(None).syscall({"x86_64": 186, "aarch64": 178}[platform.machine()])


def function(name):
    found = {}
    exec(SPIN % {"name": name}, found)
    return found[name]


def spin(name):
    """Runs a function of its own for a while, and notes what it took."""
    call, before = function(name), clock()
    call(SECONDS, clock)
    own[name] = {"cpu": clock() - before, "name": threading.current_thread().name, "tid": tid()}


def run_threads():
    """Each thread at the memory of the one before."""
    for number in range(4):
        thread = threading.Thread(target=spin, args=("spin_%d" % number,), name="job-%d" % number)
        thread.start()
        thread.join()
    spin("spin_main")


def run_renames():
    """One thread that is called as the job that it does."""
    def work():
        for number in range(4):
            threading.current_thread().name = "job-%d" % number
            spin("spin_%d" % number)

    for number in range(50):  # more than a sample looks at, and than the smallest tables have room for
        threading.Thread(target=time.sleep, args=(60,), name="sleeper-%d" % number, daemon=True).start()
    thread = threading.Thread(target=work, name="idle")
    thread.start()
    thread.join()


def run_interpreter():
    """A sub-interpreter in the thread that has run Python code before."""
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    run = getattr(interpreters, "run_string", None) or interpreters.exec
    spin("spin_before")
    inner, before = interpreters.create(), clock()
    run(inner, "import time\n" + SPIN % {"name": "spin_inside"} +
        "spin_inside(%r, lambda: time.clock_gettime(time.CLOCK_THREAD_CPUTIME_ID))" % (2 * SECONDS))
    own["spin_inside"] = {"cpu": clock() - before, "name": "MainThread", "tid": tid()}
    spin("spin_after")


class Node:
    pass


def run_shutdown():
    """What is taken down at the end takes longer than the last function."""
    global kept
    kept = []
    for number in range(300000):
        node = Node()
        node.inner, node.numbers = {number: node}, [number]
        kept.append(node)
    spin("spin_last")


if __name__ == "__main__":
    globals()["run_" + sys.argv[1]]()
    print(json.dumps(dict(own, pid=os.getpid())), flush=True)

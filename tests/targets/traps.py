# SPDX-License-Identifier: Apache-2.0
"""What readers from outside have stumbled over, each in a thread of its own that waits.

    traps.py TRAP...    prints {"pid", "ppid", "threads": {TRAP: {"tid", "frames", "depth"}}} and
                        ends when its standard input does; "frames" are the innermost 4096

Source that CPython 3.6 to 3.15 all read.
"""

import ctypes
import json
import os
import platform
import sys
import threading
import time
import types

FRAMES_SHOWN = 4096
LINES = 30000
PR_SET_NAME = 15
STACK_BYTES = 256 << 20


def native_id():
    """The kernel's id of this thread (threading.get_native_id came with 3.8)."""
    if hasattr(threading, "get_native_id"):
        return threading.get_native_id()
    return ctypes.CDLL(None).syscall({"x86_64": 186, "aarch64": 178}[platform.machine()])


def wait(place):
    place.there.set()
    while True:
        time.sleep(1000)


def spin(place):
    place.there.set()
    while True:
        pass


def set_kernel_name(name):
    """The name in /proc/PID/task/TID/stat."""
    assert ctypes.CDLL(None).prctl(PR_SET_NAME, name, 0, 0, 0) == 0


def kernel_name_that_runs(place):
    """In brackets it reads like a thread that runs, for who looks for the first bracket."""
    set_kernel_name(b"a) R 1")
    wait(place)


def kernel_name_that_sleeps(place):
    set_kernel_name(b"a) S 1")
    spin(place)


def long_line_table(place):
    """A function of so many lines that their table is over 40 kB; it waits on the last one."""
    text = "def long_one(place, wait):\n" + "    x = place\n" * LINES + "    wait(place)\n"
    names = {}
    exec(compile(text, "<long>", "exec"), names)
    code = names["long_one"].__code__
    table = code.co_linetable if hasattr(code, "co_linetable") else code.co_lnotab
    assert len(table) > 40960, len(table)
    names["long_one"](place, wait)


def with_name(function, name):
    """The function with that name in its code object, which need not be an identifier."""
    code = function.__code__
    if hasattr(code, "co_qualname"):
        code = code.replace(co_name=name, co_qualname=name)
    elif hasattr(code, "replace"):
        code = code.replace(co_name=name)
    else:
        code = types.CodeType(
            code.co_argcount, code.co_kwonlyargcount, code.co_nlocals, code.co_stacksize, code.co_flags,
            code.co_code, code.co_consts, code.co_names, code.co_varnames, code.co_filename, name,
            code.co_firstlineno, code.co_lnotab, code.co_freevars, code.co_cellvars)
    return types.FunctionType(code, function.__globals__)


def call_next(place, rest):
    if rest:
        return rest[0](place, rest[1:])
    return wait(place)


NAMES = ["plain", "größe", "関数_☃", "\U0001d518\U0001f40d", "nul\0name", "lone\udc80surrogate", "tab\tline\nquote\"",
         "", "x" * 5000]


def strange_names(place):
    functions = [with_name(call_next, name) for name in NAMES]
    functions[0](place, functions[1:])


def recurse(place, left):
    if left:
        return recurse(place, left - 1)
    return wait(place)


def deep(place, depth):
    """A stack of exactly `depth` frames."""
    sys.setrecursionlimit(20000)
    frame, around = sys._getframe(), 0
    while frame:
        around, frame = around + 1, frame.f_back
    recurse(place, depth - around - 2)


def deep_4000(place):
    deep(place, 4000)


def deep_4096(place):
    deep(place, 4096)


def deep_4097(place):
    deep(place, 4097)


def deep_5000(place):
    deep(place, 5000)


class Place:
    """One thread and its trap."""

    def __init__(self, trap):
        self.trap = trap
        self.tid = self.ident = None
        self.there = threading.Event()

    def run(self):
        self.tid, self.ident = native_id(), threading.get_ident()
        globals()[self.trap](self)

    def stays(self):
        """True once it is back from telling that it is there."""
        return sys._current_frames()[self.ident].f_code.co_name in ("wait", "spin")

    def view(self):
        frames, frame = [], sys._current_frames()[self.ident]
        while frame is not None:
            code = frame.f_code
            frames.append({"func": getattr(code, "co_qualname", code.co_name), "file": code.co_filename,
                           "line": frame.f_lineno, "first_line": code.co_firstlineno})
            frame = frame.f_back
        return {"tid": self.tid, "depth": len(frames), "frames": frames[:FRAMES_SHOWN]}


def main():
    places = [Place(trap) for trap in sys.argv[1:]]
    threading.stack_size(STACK_BYTES)
    for place in places:
        threading.Thread(target=place.run, name=place.trap, daemon=True).start()
        if not place.there.wait(120):
            sys.exit("%s did not get there" % place.trap)
    while not all(place.stays() for place in places):
        time.sleep(0.001)
    data = json.dumps({"pid": os.getpid(), "ppid": os.getppid(), "main": native_id(),
                       "threads": {place.trap: place.view() for place in places}}).encode() + b"\n"
    while data:
        data = data[os.write(1, data):]
    while os.read(0, 4096):
        pass
    os._exit(0)


main()

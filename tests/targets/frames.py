# SPDX-License-Identifier: Apache-2.0
"""Stands still in deep, varied stacks and says itself what a reader from outside must see.

Prints one JSON document in the shape of `pystrobe dump --json` and then waits, changing
nothing, until its standard input ends. Source that CPython 3.6 to 3.15 all read.

    frames.py [--warm N] [--monitor EVENTS]

    --warm      run every path N times before (default 0), so that the interpreter has
                specialised and inlined what it can
    --monitor   from 3.12 on: have each event of sys.monitoring told, "LINE" or "LINE,INSTRUCTION",
                as debuggers and coverage tools do, so that the code is instrumented

"ignore" in the document lists the threads that are not part of it: the one that prints.
"""

import contextlib
import dis
import functools
import json
import os
import platform
import sys
import threading
import time
import types

import _thread


def native_id():
    """The kernel's id of this thread (threading.get_native_id came with 3.8)."""
    if hasattr(threading, "get_native_id"):
        return threading.get_native_id()
    import ctypes

    number = {"x86_64": 186, "aarch64": 178}[platform.machine()]
    return ctypes.CDLL(None).syscall(number)


class Place:
    """Where one thread waits: it has arrived once its leaf frame is on the waiting line."""

    def __init__(self):
        self.read_fd, self.write_fd = os.pipe()
        self.tid = None
        self.ident = None

    def enter(self):
        self.tid = native_id()
        self.ident = threading.get_ident()

    def wait(self):
        os.read(self.read_fd, 1)


WAIT_LINE = Place.wait.__code__.co_firstlineno + 1


# Each step calls `rest[0](rest[1:])` in another way; the last one waits.


def direct(rest):
    return rest[0](rest[1:])


def recursion(rest, depth=12):
    if depth:
        return recursion(rest, depth - 1)
    return direct(rest)


def inner_generator(rest):
    yield 1
    yield direct(rest)


def outer_generator(rest):
    yield 0
    yield from inner_generator(rest)


def nested_generators(rest):
    total = 0
    for value in outer_generator(rest):
        total += value
    return total


def generator_expression(rest):
    return sum(direct(rest) + one for one in (1,))


def comprehensions(rest):
    return [
        direct(rest) + value
        for value in range(1)
        if value == 0
    ][0]


def nested_comprehension(rest):
    return {key: {direct(rest) + value for value in (0,)} for key in "k"}["k"].pop()


def lambdas(rest):
    step = lambda: (lambda more: direct(more))(rest)
    return step()


def key_of_max(rest):
    return max([1], [2], key=lambda item: item[0] * (direct(rest) or 1))[0]


def key_of_sorted(rest):
    return sorted([3], key=lambda item: direct(rest) + item)[0]


def mapped(rest):
    return list(map(lambda item: direct(rest) + item, [4]))[0]


def reduced(rest):
    def add(left, right):
        return left + right + direct(rest)

    return functools.reduce(add, [5, 6])


def partial(rest):
    return functools.partial(direct, rest)()


def handling(rest):
    try:
        raise ValueError("handled while the reader looks")
    except ValueError:
        return direct(rest)


def handling_in_finally(rest):
    try:
        try:
            raise KeyError("passes through")
        finally:
            kept = direct(rest)
    except KeyError:
        return kept


@contextlib.contextmanager
def context(rest):
    yield direct(rest)


def with_statement(rest):
    with context(rest) as value:
        return value


class OnExit:
    def __init__(self, rest):
        self.rest = rest
        self.value = None

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.value = direct(self.rest)


def on_exit(rest):
    with OnExit(rest) as scope:
        pass
    return scope.value


def decorate(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    return wrapper


@decorate
def decorated(rest):
    return direct(rest)


def multi_line(rest):
    return sum(
        [
            1,
            direct(
                rest,
            ),
            2,
        ]
    )


def größe_Ω_関数(rest):
    return direct(rest)


class Shop:
    """Methods of every kind, so that qualified names are put to the test."""

    class Till:
        def ring(self, rest):
            return direct(rest)

    def __init__(self, rest):
        self.value = self.Till().ring(rest)

    @property
    def price(self):
        return direct(self.rest)

    @classmethod
    def by_class(cls, rest):
        shop = cls.__new__(cls)
        shop.rest = rest
        return shop.price

    @staticmethod
    def static(rest):
        return Shop.by_class(rest)

    def __call__(self, rest):
        return direct(rest)

    def __getitem__(self, rest):
        return direct(rest)

    def __add__(self, rest):
        return direct(rest)

    def __getattr__(self, name):
        if name != "wares":
            raise AttributeError(name)
        return direct(self.__dict__["rest"])


def methods(rest):
    return Shop.static(rest)


def constructor(rest):
    return Shop(rest).value


def new_shop(rest):
    shop = Shop.__new__(Shop)
    shop.rest = rest
    return shop


def called(rest):
    return new_shop(rest)(rest)


def subscripted(rest):
    return new_shop(rest)[rest]


def missing_attribute(rest):
    return new_shop(rest).wares


def added(rest):
    return new_shop(rest) + rest


def class_body(rest):
    class Body:
        value = direct(rest)

    return Body.value


@types.coroutine
def bridge(rest):
    yield direct(rest)


async def awaited(rest):
    return await bridge(rest)


async def awaits(rest):
    return await awaited(rest)


def coroutines(rest):
    coroutine = awaits(rest)
    value = coroutine.send(None)
    coroutine.close()
    return value


def on_delete(rest):
    class Dropped:
        def __del__(self):
            result.append(direct(rest))

    result = []
    dropped = Dropped()
    del dropped
    return result[0]


def gap_source():
    """Code whose lines lie far apart, forwards and backwards."""
    lines = ["def gapped(direct, rest):", "    value = ("] + [""] * 300
    lines += ["        direct(rest)"] + [""] * 300 + ["    )", "    return value", ""]
    lines += ["result = [gapped(direct, rest)", "          for _ in 'x'][0]"]
    return compile("\n".join(lines), "<600 lines>", "exec")


GAP = gap_source()


def executed(rest):
    names = {"direct": direct, "rest": rest}
    exec(GAP, names)
    return names["result"]


def evaluated(rest):
    return eval("(lambda: direct(rest))()", {"direct": direct, "rest": rest})


def local_function(rest):
    def one():
        def two():
            return direct(rest)

        return two()

    return one()


MAIN_STEPS = [
    recursion, nested_generators, generator_expression, comprehensions, nested_comprehension, lambdas,
    key_of_max, key_of_sorted, mapped, reduced, partial, handling, handling_in_finally, with_statement,
    on_exit, decorated, multi_line, größe_Ω_関数, methods, constructor, called, subscripted, missing_attribute,
    added, class_body,
    coroutines, on_delete, executed, evaluated, local_function, recursion,
]
NAMED_STEPS = [handling, nested_generators, größe_Ω_関数, methods, executed, lambdas, coroutines, key_of_max]
BARE_STEPS = [recursion, comprehensions, key_of_sorted, multi_line]


def nothing(rest):
    return 0


def descend(steps, place, warm):
    for _ in range(warm):
        direct(steps + [nothing])

    def bottom(rest):
        place.enter()
        place.wait()
        return 0

    direct(steps + [bottom])


# The view from inside.


def opcode_of(frame):
    """The name of the instruction that the frame is at, as it stands in the code now."""
    code = frame.f_code
    stands = getattr(code, "_co_code_adaptive", code.co_code)  # 3.11 and later: specialised, instrumented
    start = max(one.offset for one in dis.get_instructions(code) if one.offset <= frame.f_lasti)
    return getattr(dis, "_all_opname", dis.opname)[stands[start]]


def frame_of(frame):
    code = frame.f_code
    return {
        "func": getattr(code, "co_qualname", code.co_name),  # 3.11 and later
        "file": code.co_filename,
        "line": frame.f_lineno,
        "first_line": code.co_firstlineno,
        "opcode": opcode_of(frame),
    }


def stack_of(frame):
    frames = []
    while frame is not None:
        frames.append(frame_of(frame))
        frame = frame.f_back
    return frames


def has_arrived(place):
    """True once the thread is in os.read(): at the other instructions of the line it is not yet."""
    frame = sys._current_frames().get(place.ident)
    if frame is None or frame.f_code is not Place.wait.__code__ or frame.f_lineno != WAIT_LINE:
        return False
    return "CALL" in opcode_of(frame) or "INSTRUMENTED" in opcode_of(frame)


def name_of(ident):
    """None for a thread that the threading module has never heard of."""
    for thread in threading.enumerate():
        if thread.ident == ident:
            return thread.name
    return None


def view(places):
    frames = sys._current_frames()
    main = threading.main_thread().ident
    return {
        "pid": os.getpid(),
        "python": platform.python_version(),
        "free_threaded": not getattr(sys, "_is_gil_enabled", lambda: True)(),
        "interpreters": [
            {
                "id": 0,
                "threads": [
                    {
                        "tid": place.tid,
                        "name": name_of(place.ident),
                        "main": place.ident == main,
                        "frames": stack_of(frames[place.ident]),
                    }
                    for place in places
                ],
            }
        ],
        "ignore": [native_id()],
    }


def write_line(text):
    data = text.encode("ascii") + b"\n"
    while data:
        data = data[os.write(1, data):]


def watch(places):
    while not all(has_arrived(place) for place in places):
        time.sleep(0.005)
    write_line(json.dumps(view(places)))
    while os.read(0, 4096):
        pass
    os._exit(0)


def monitor(events):
    tool = sys.monitoring.DEBUGGER_ID
    sys.monitoring.use_tool_id(tool, "frames")
    sys.monitoring.set_events(tool, sum(getattr(sys.monitoring.events, event) for event in events))


def main():
    words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
    warm = int(words.get("--warm", 0))
    if "--monitor" in words:
        monitor(words["--monitor"].split(","))
    places = [Place() for _ in range(4)]

    for place, steps, name in ((places[1], NAMED_STEPS, "Wörker-π ☃"), (places[2], NAMED_STEPS[:3], None)):
        threading.Thread(target=descend, args=(steps, place, warm), name=name, daemon=True).start()
    _thread.start_new_thread(descend, (BARE_STEPS, places[3], warm))
    threading.Thread(target=watch, args=(places,), name="watcher", daemon=True).start()
    descend(MAIN_STEPS, places[0], warm)


main()

# SPDX-License-Identifier: Apache-2.0
"""Stands still in asyncio tasks of all kinds and says itself what a reader must see. 3.14 and later.

Prints one JSON document in the shape of `pystrobe dump --async all --json`, and then waits,
inside a task that runs, until its standard input ends. More in it than in that shape:

    "graph"     ids of the tasks that asyncio.capture_call_graph says wait for a task, or null
    "finished"  ids of tasks that are done, though not forgotten: a reader leaves them out

    tasks.py [--many N]    N more tasks that wait for a future
"""

import asyncio
import contextlib
import gc
import json
import os
import sys
import threading
import types

from asyncio import future_add_to_awaited_by

KEPT = []  # what must not be forgotten
UNNAMED = {}  # id of a task that was never asked for its name: what that is
IN_CYCLES = set()  # ids of tasks
KNOWN_HELPERS = {}  # id of what stands for a generator: the generator


def frame_entry(frame):
    code = frame.f_code
    return {"func": code.co_qualname, "file": code.co_filename, "line": frame.f_lineno,
            "first_line": code.co_firstlineno}


def waits_in(awaitable):
    """The frames of a suspended coroutine and of what it awaits, outermost first."""
    frames = []
    while awaitable is not None:
        for prefix in ("cr", "gi", "ag"):
            if hasattr(awaitable, prefix + "_frame"):
                frame = getattr(awaitable, prefix + "_frame")
                break
        else:
            # What stands for a generator does not tell for which.
            awaitable = KNOWN_HELPERS.get(id(awaitable))
            continue
        if frame is None:
            break
        frames.append(frame_entry(frame))
        awaitable = getattr(awaitable, "gi_yieldfrom" if prefix == "gi" else prefix + "_await")
    return frames


def helper(awaitable, of):
    KEPT.append(awaitable)
    KNOWN_HELPERS[id(awaitable)] = of
    return awaitable


# Ways of waiting. Each ends in a future that never comes.


async def forever():
    await asyncio.get_running_loop().create_future()


async def inner(depth):
    if depth:
        return await inner(depth - 1)
    await forever()


async def nested():
    await inner(20)


@types.coroutine
def old_style():
    yield from asyncio.get_running_loop().create_future()


async def awaits_old_style():
    await old_style()


@types.coroutine
def old_style_outer():
    yield from forever()


async def awaits_a_coroutine_in_old_style():
    await old_style_outer()


class Awaitable:
    """Has an __await__ that is a generator."""

    def __await__(self):
        yield from asyncio.get_running_loop().create_future()


async def awaits_an_object():
    await Awaitable()


class Wrapped:
    """Has an __await__ that is that of a coroutine."""

    def __await__(self):
        coroutine = forever()
        return helper(coroutine.__await__(), coroutine)


async def awaits_a_wrapper():
    await Wrapped()


async def values():
    yield 1
    await forever()
    yield 2


async def awaits_asend():
    generator = values()
    await generator.asend(None)
    await helper(generator.asend(None), generator)


async def cleans_up():
    try:
        yield 1
    finally:
        await forever()


async def awaits_aclose():
    generator = cleans_up()
    await generator.asend(None)
    await helper(generator.aclose(), generator)


async def awaits_athrow():
    generator = cleans_up()
    await generator.asend(None)
    await helper(generator.athrow(KeyError("in")), generator)


async def awaits_anext_with_default():
    generator = values()
    await anext(generator, None)
    await helper(anext(generator, None), generator)


async def child():
    await forever()


async def in_a_group():
    async with asyncio.TaskGroup() as group:
        group.create_task(child(), name="group child 1")
        group.create_task(nested(), name="group child 2")


async def gathers():
    await asyncio.gather(child(), nested(), child())


async def waits():
    await asyncio.wait([asyncio.create_task(child(), name="waited for")])


async def shields():
    await asyncio.shield(asyncio.create_task(child(), name="shielded"))


async def awaits(task):
    await task


async def is_done():
    return 1


async def fails():
    raise ValueError("as it should")


def eager(coroutine, name):
    return asyncio.Task(coroutine, loop=asyncio.get_running_loop(), name=name, eager_start=True)


class OddTask(asyncio.Task):
    """A subclass, whose instances have a dict."""


async def start_all():
    """Every kind of task that waits."""
    loop = asyncio.get_running_loop()
    for make in (nested, awaits_old_style, awaits_a_coroutine_in_old_style, awaits_an_object,
                 awaits_a_wrapper, awaits_asend, awaits_aclose, awaits_athrow,
                 awaits_anext_with_default, in_a_group, gathers, waits, shields):
        KEPT.append(asyncio.create_task(make(), name=make.__name__))
    unnamed, named = asyncio.create_task(child()), asyncio.create_task(child())
    UNNAMED[id(unnamed)] = "Task-%d" % (int(named.get_name().split("-")[1]) - 1)
    KEPT.extend([unnamed, named])
    for name in ("größe ☃", "名前", "\U0001f40d", "with a NUL \0 inside", "", "x" * 300):
        KEPT.append(asyncio.create_task(child(), name=name))
    KEPT.append(OddTask(child(), loop=loop, name="odd"))
    KEPT.append(eager(nested(), "eager"))
    shared = asyncio.create_task(child(), name="awaited by many")
    KEPT.append(shared)
    for number in range(40):
        KEPT.append(asyncio.create_task(awaits(shared), name="waiter %d" % number))
    left = asyncio.create_task(child(), name="left of a cycle")
    right = asyncio.create_task(child(), name="right of a cycle")
    future_add_to_awaited_by(left, right)
    future_add_to_awaited_by(right, left)
    through = loop.create_future()  # a future that is no task may wait, too
    below = asyncio.create_task(child(), name="below a future")
    future_add_to_awaited_by(below, through)
    future_add_to_awaited_by(through, left)
    future_add_to_awaited_by(through, right)
    future_add_to_awaited_by(through, through)
    KEPT.extend([left, right, below, through])
    IN_CYCLES.update(id(task) for task in (left, right, below))
    done = [asyncio.create_task(is_done(), name="done"), asyncio.create_task(fails(), name="failed"),
            eager(is_done(), "eager and done")]
    await asyncio.wait(done)
    done[1].exception()
    KEPT.extend(done)
    return done


# Threads.


def stack_to(task):
    """The frames of the caller's caller and on, innermost first, down to a running task's coroutine."""
    frames, frame = [], sys._getframe(2)
    while frame is not None:
        frames.append(frame_entry(frame))
        if frame is task.get_coro().cr_frame:
            return frames
        frame = frame.f_back
    raise AssertionError("the task does not run here")


def wait_here(read_fd, tell):
    tell([dict(frame_entry(sys._getframe()), line=WAIT_LINE)] + stack_to(asyncio.current_task()))
    os.read(read_fd, 1)


WAIT_LINE = wait_here.__code__.co_firstlineno + 2


class Other:
    """A thread with a loop of its own, where one task runs and waits in C code."""

    def __init__(self, name, eagerly):
        self.eagerly = eagerly
        self.read_fd, self.write_fd = os.pipe()
        self.ready = threading.Event()
        self.tid = self.loop = self.task = self.frames = None
        threading.Thread(target=asyncio.run, args=(self.main(),), name=name, daemon=True).start()
        self.ready.wait()

    async def main(self):
        self.tid = threading.get_native_id()
        self.loop = asyncio.get_running_loop()
        KEPT.append(asyncio.create_task(child(), name="in another thread"))
        await asyncio.create_task(self.runs(), name="runs in another thread")

    async def runs(self):
        await asyncio.sleep(0)
        if self.eagerly:
            eager(self.deeper(), "runs eagerly")
        await self.deeper()

    async def deeper(self):
        [self.plain() for _ in range(1)]

    def plain(self):
        wait_here(self.read_fd, self.tell)

    def tell(self, frames):
        self.task = asyncio.current_task()
        self.frames = frames
        self.ready.set()


async def left_behind():
    KEPT.append(asyncio.current_task())
    await forever()


def end_with_a_task():
    """A thread that ends while a task of it is still there."""
    loop = asyncio.new_event_loop()
    KEPT.append(loop)
    KEPT.append(loop.create_task(left_behind(), name="its thread has ended"))
    loop.call_later(0.05, loop.stop)
    loop.run_forever()


# What it says of itself.


def waiters_of(future, seen):
    """Ids of the tasks that wait for a future, through futures that are no tasks."""
    found = set()
    for waiter in future._asyncio_awaited_by or ():
        if isinstance(waiter, asyncio.Task):
            found.add(id(waiter))
        elif id(waiter) not in seen:
            seen.add(id(waiter))
            found |= waiters_of(waiter, seen)
    return found


def graph_waiters(task):
    """The same by asyncio's own tool; None where that cannot tell (it does not end on cycles)."""
    if id(task) in IN_CYCLES:
        return None
    return sorted({id(one.future) for one in asyncio.capture_call_graph(task).awaited_by})


def every_task():
    """Every task of the process that is not done, of whatever thread."""
    return [one for one in gc.get_objects() if isinstance(one, asyncio.Task) and not one.done()]


def document(others, here):
    """What a reader must see; `here` are the frames of this thread's running task."""
    tids = {other.loop: other.tid for other in others}
    tids[asyncio.get_running_loop()] = threading.get_native_id()
    running = {other.task: other.frames for other in others}
    running[asyncio.current_task()] = here
    entries = []
    for task in every_task():
        entries.append({
            "id": id(task),
            # To ask for the name of an unnamed task gives it one.
            "name": UNNAMED.get(id(task)) or task.get_name(),
            "tid": tids.get(task.get_loop()),
            "running": task in running,
            "cut": False,
            "coroutines": running.get(task) or waits_in(task.get_coro())[::-1],
            "awaited_by": sorted(waiters_of(task, set())),
            "graph": graph_waiters(task),
        })
    return {"pid": os.getpid(), "python": sys.version.split()[0], "tasks": entries}


async def main(many):
    thread = threading.Thread(target=end_with_a_task)
    thread.start()
    thread.join()
    others = [Other("Othér", False), Other("third", True)]
    done = await start_all()
    for number in range(many):
        KEPT.append(asyncio.create_task(forever(), name="of many %d" % number))
    for _ in range(100):  # until each of the others waits for what nobody does
        await asyncio.sleep(0)

    def tell(frames):
        said = document(others, frames)
        said["finished"] = [id(task) for task in done]
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()

    wait_here(0, tell)


if __name__ == "__main__":
    MANY = int(sys.argv[2]) if sys.argv[1:2] == ["--many"] else 0
    with contextlib.closing(asyncio.new_event_loop()) as LOOP:
        LOOP.run_until_complete(main(MANY))
        os._exit(0)  # the other threads wait for good

# SPDX-License-Identifier: Apache-2.0
"""Tasks that come, move and go as fast as they can. 3.14 and later. Prints its pid; ends with its input.

Every chain of coroutines is a1 a2 a3 or b1 b2 b3, outermost first, or a part of it from the
outermost on; "a" tasks await nothing but "a" tasks, and "b" tasks "b" tasks.
"""

import asyncio
import json
import os
import sys
import threading


async def a3():
    await asyncio.sleep(0)


async def a2():
    await a3()
    await a3()


async def a1():
    await a2()
    await asyncio.gather(*[asyncio.create_task(a1_leaf(), name="a") for _ in range(3)])


async def a1_leaf():
    await a2()


async def b3():
    await asyncio.sleep(0)


async def b2():
    await b3()


async def b1():
    await b2()
    async with asyncio.TaskGroup() as group:
        group.create_task(b1_leaf(), name="b")
        group.create_task(b1_leaf(), name="b")


async def b1_leaf():
    await b2()


async def work(ended):
    while not ended.is_set():
        await asyncio.wait([asyncio.create_task(make(), name=make.__name__[0]) for make in (a1, b1) * 8])


def wait_for_the_end(ended):
    sys.stdin.read()
    ended.set()


if __name__ == "__main__":
    ENDED = threading.Event()
    threading.Thread(target=wait_for_the_end, args=(ENDED,)).start()
    print(json.dumps({"pid": os.getpid()}), flush=True)
    asyncio.run(work(ENDED))

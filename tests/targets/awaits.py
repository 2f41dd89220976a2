# SPDX-License-Identifier: Apache-2.0
"""A task that computes, one that waits, and the task that awaits both. 3.14 and later to be seen as such.

Prints its pid; ends when its standard input does.
"""

import asyncio
import json
import os
import sys
import threading


def compute():
    return sum(number * number for number in range(3000))


async def step():
    for _ in range(20):
        compute()
    await asyncio.sleep(0)


async def computes():
    while True:
        await step()


async def waits():
    await asyncio.get_running_loop().create_future()


async def parent():
    await asyncio.gather(asyncio.create_task(computes(), name="busy"), asyncio.create_task(waits(), name="idle"),
                         asyncio.create_task(waits()))


def end():
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=end, daemon=True).start()
    print(json.dumps({"pid": os.getpid()}), flush=True)
    asyncio.run(parent())

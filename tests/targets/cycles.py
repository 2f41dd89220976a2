# SPDX-License-Identifier: Apache-2.0
"""Two tasks that await each other, and one that one of them awaits, too. 3.14 and later to be seen as such.

Prints its pid; ends when its standard input does.
"""

import asyncio
import json
import os
import sys
import threading

tasks = {}


async def goes_round(following):
    await asyncio.sleep(0)
    await asyncio.gather(*(tasks[name] for name in following))


async def waits():
    await asyncio.get_running_loop().create_future()


async def main():
    tasks["inner"] = asyncio.create_task(waits(), name="inner")
    tasks["left"] = asyncio.create_task(goes_round(["right", "inner"]), name="left")
    tasks["right"] = asyncio.create_task(goes_round(["left"]), name="right")
    await asyncio.get_running_loop().create_future()


def end():
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=end, daemon=True).start()
    print(json.dumps({"pid": os.getpid()}), flush=True)
    asyncio.run(main())

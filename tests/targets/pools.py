# SPDX-License-Identifier: Apache-2.0
"""A pool of multiprocessing by each of its ways to start processes: pools.py METHOD WORKERS MARK.

Prints {"pid", "workers"} once all work; ends with its standard input.
"""

import json
import multiprocessing
import os
import sys
import time


def crunch(until):
    while time.monotonic() < until:
        sum(range(2000))
        time.sleep(0.002)
    return os.getpid()


def work(seconds):
    return crunch(time.monotonic() + seconds)


def main():
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(int(sys.argv[2])) as pool:
        pids = sorted(set(pool.map(work, [0.2] * 4 * int(sys.argv[2]), 1)))
        print(json.dumps({"pid": os.getpid(), "workers": pids}), flush=True)
        pool.map_async(work, [3600] * int(sys.argv[2]), 1)
        sys.stdin.read()
        pool.terminate()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""What the truth programs share: the board on which a program publishes its own measurement.

The board is a mapped file of 64-bit words. Each thread has a row of ROW words, and in it three
for each share: wall time and CPU time spent in it (ns), and how many blocks that were.
"""

import itertools
import json
import mmap
import os
import random
import sys
import time

ROW = 48
WORDS = 3  # of a share

clock = time.perf_counter_ns
cpu_clock = time.thread_time_ns


def open_board(path):
    fd = os.open(path, os.O_RDWR)
    try:
        return memoryview(mmap.mmap(fd, 0)).cast("q")
    finally:
        os.close(fd)


def cost_of_timing():
    """What a block of nothing measures (ns): part of each block, and in none of its functions."""
    def measure():
        begin = clock()
        return clock() - begin

    times = sorted(measure() for _ in range(2001))
    return times[len(times) // 2]


def say_ready(names, threads=1):
    """Tells what the board has; from here on the program only runs."""
    print(json.dumps({"pid": os.getpid(), "shares": names, "rows": threads, "block_ns": cost_of_timing()}))
    sys.stdout.flush()


def plan(runs, weights, shortest_ns, longest_ns, count=5000, seed=1):
    """A random order of blocks, for ever: (run, its number, length in ns)."""
    dice = random.Random(seed)
    numbers = dice.choices(range(len(runs)), weights, k=count)
    return itertools.cycle([(runs[n], n, dice.randint(shortest_ns, longest_ns)) for n in numbers])


def run_blocks(board, row, blocks):
    """Runs blocks until a time each, and publishes what they took."""
    for run, number, length in blocks:
        at = row * ROW + number * WORDS
        cpu = cpu_clock()
        begin = clock()
        run(begin + length)  # call: <share>
        end = clock()
        board[at] += end - begin
        board[at + 1] += cpu_clock() - cpu
        board[at + 2] += 1

# SPDX-License-Identifier: Apache-2.0
"""Recursion to and fro over the ends of the 16 KiB chunks in which frames lie from 3.11 on."""

import random
import sys

from board import clock, open_board, plan, run_blocks, say_ready

DEPTHS = [random.Random(3).randint(40, 260) for _ in range(500)]


def thin(n, turns):
    if n <= 0:
        return swing(turns)  # call: swing
    return wide(n - 1, turns)  # call: wide


def wide(n, turns):
    a = b = c = d = e = f = g = h = i = j = k = m = o = p = q = r = n
    if n <= 0:
        return swing(turns)  # call: swing
    s = wider(n - 1, turns)  # call: wider
    return a + b + c + d + e + f + g + h + i + j + k + m + o + p + q + r + s


def wider(n, turns):
    a = b = c = d = e = f = g = h = n
    if n <= 0:
        return swing(turns)  # call: swing
    i = thin(n - 1, turns)  # call: thin
    return a + b + c + d + e + f + g + h + i


def swing(turns):
    """A few steps more and back, again and again: over an end, if one is near."""
    total = 0
    for turn in range(turns):
        total += step_1(turn % 7)  # call: step_1
    return total


def step_1(n):
    return step_2(n - 1) if n > 0 else 0  # call: step_2


def step_2(n):
    a = b = c = d = e = f = g = h = i = j = n
    return step_1(n - 1) + a - b + c - d + e - f + g - h + i - j if n > 0 else 0  # call: step_1


def recurse(until_ns):  # share: recurse
    for depth in DEPTHS:
        thin(depth, 10)  # call: thin
        if clock() > until_ns:
            return


def rest(until_ns):  # share: rest
    while clock() < until_ns:
        pass


def main():
    board = open_board(sys.argv[1])
    sys.setrecursionlimit(5000)
    say_ready(["recurse", "rest"])
    run_blocks(board, 0, plan([recurse, rest], [60, 40], 30000, 180000))  # call: run_blocks


main()  # call: main

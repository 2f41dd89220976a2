# SPDX-License-Identifier: Apache-2.0
"""Exceptions that unwind stacks of any depth, through handlers, finally blocks and generators."""

import random
import sys

from board import clock, open_board, plan, run_blocks, say_ready

DEPTHS = [random.Random(1).choice((1, 2, 3, 20, 60, 150)) for _ in range(500)]


def fail(n):
    raise LookupError(n)


def dive_even(n):
    if n <= 0:
        fail(n)  # call: fail
    return dive_odd(n - 1)  # call: dive_odd


def dive_odd(n):  # lineless
    try:
        return dive_third(n - 1)  # call: dive_third
    finally:
        clean_up(n)  # call: clean_up


def dive_third(n):  # lineless
    try:
        if n <= 0:
            fail(n)  # call: fail
        return dive_even(n - 1)  # call: dive_even
    except KeyError:
        return 0


def clean_up(n):
    return n + 1


def generate(n):  # lineless
    try:
        yield n
        dive_even(n)  # call: dive_even
    finally:
        clean_up(n)  # call: clean_up


def chain(n):  # lineless
    yield from generate(n)  # call: generate


def unwind(until_ns):  # lineless share: unwind
    for depth in DEPTHS:
        try:
            dive_even(depth)  # call: dive_even
        except LookupError:
            pass
        if clock() > until_ns:
            return


def unwind_generators(until_ns):  # lineless share: generators
    for depth in DEPTHS:
        try:
            for _ in chain(depth):  # call: chain
                pass
        except LookupError:
            pass
        if clock() > until_ns:
            return


def rest(until_ns):  # share: rest
    while clock() < until_ns:
        pass


def main():
    board = open_board(sys.argv[1])
    say_ready(["unwind", "generators", "rest"])
    run_blocks(board, 0, plan([unwind, unwind_generators, rest], [40, 30, 30], 20000, 180000))  # call: run_blocks


main()  # call: main

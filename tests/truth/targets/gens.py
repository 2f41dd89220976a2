# SPDX-License-Identifier: Apache-2.0
"""The shares of shares.py inside generators: behind `yield from`, behind loops, and both."""

import sys

from board import clock, open_board, plan, run_blocks, say_ready


def walk_most(until_ns):
    number = 1
    while clock() < until_ns:
        number = number * 31 % 1000003
        yield number


def middle_most(until_ns):
    yield from walk_most(until_ns)  # call: walk_most


def outer_most(until_ns):
    yield from middle_most(until_ns)  # call: middle_most


def walk_some(until_ns):
    number = 1
    while clock() < until_ns:
        for _ in range(30):
            number = number * 31 % 1000003
        yield number


def middle_some(until_ns):
    for number in walk_some(until_ns):  # call: walk_some
        yield number


def outer_some(until_ns):
    for number in middle_some(until_ns):  # call: middle_some
        yield number


def walk_little(until_ns):
    number = 1
    while clock() < until_ns:
        number = number * 31 % 1000003
        yield number


def outer_little(until_ns):
    yield from (number + 1 for number in walk_little(until_ns))  # call: <genexpr> walk_little


def drive_most(until_ns):  # share: most
    for _ in outer_most(until_ns):  # call: outer_most
        pass


def drive_some(until_ns):  # share: some
    for _ in outer_some(until_ns):  # call: outer_some
        pass


def drive_little(until_ns):  # share: little
    sum(outer_little(until_ns))  # call: outer_little


def main():
    board = open_board(sys.argv[1])
    say_ready(["most", "some", "little"])
    run_blocks(board, 0, plan([drive_most, drive_some, drive_little], [70, 20, 10], 20000, 180000))  # call: run_blocks


main()  # call: main

# SPDX-License-Identifier: Apache-2.0
"""As shares.py, but the 70 % are in recursive calls: what loses samples of calls shows here."""

import sys

from board import clock, open_board, plan, run_blocks, say_ready


def fib(n):
    if n < 2:
        return n
    before = fib(n - 2)  # call: fib
    last = fib(n - 1)  # call: fib
    return before + last


def burn_most(until_ns):  # share: most
    while clock() < until_ns:
        fib(9)  # call: fib


def burn_some(until_ns):  # share: some
    number = 1
    while clock() < until_ns:
        number = number * 31 % 1000003


def burn_little(until_ns):  # share: little
    number = 1
    while clock() < until_ns:
        number = number * 31 % 1000003


def main():
    board = open_board(sys.argv[1])
    say_ready(["most", "some", "little"])
    run_blocks(board, 0, plan([burn_most, burn_some, burn_little], [70, 20, 10], 20000, 180000))  # call: run_blocks


main()  # call: main

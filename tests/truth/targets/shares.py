# SPDX-License-Identifier: Apache-2.0
"""Three functions that burn 70, 20 and 10 % of the time, in blocks of random order and length."""

import sys

from board import clock, open_board, plan, run_blocks, say_ready


def burn_most(until_ns):  # share: most
    number = 1
    while clock() < until_ns:
        number = number * 31 % 1000003


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
    run_blocks(board, 0, plan([burn_most, burn_some, burn_little], [70, 20, 10], 50000, 350000))  # call: run_blocks


main()  # call: main

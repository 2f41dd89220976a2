# SPDX-License-Identifier: Apache-2.0
"""Burns 7, 2 and 1 ms of each 10 ms of the clock: a sampler in step with it sees one of them only."""

import sys

from board import ROW, WORDS, clock, cpu_clock, open_board, say_ready

CYCLE_NS = 10000000
ENDS_NS = (7000000, 9000000, 10000000)


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
    assert len(ENDS_NS) * WORDS <= ROW
    say_ready(["most", "some", "little"])
    cycle = clock() // CYCLE_NS * CYCLE_NS
    while True:
        for number, run in enumerate((burn_most, burn_some, burn_little)):
            cpu = cpu_clock()
            begin = clock()
            run(cycle + ENDS_NS[number])  # call: <share>
            board[number * WORDS] += clock() - begin
            board[number * WORDS + 1] += cpu_clock() - cpu
            board[number * WORDS + 2] += 1
        cycle = max(cycle + CYCLE_NS, clock() // CYCLE_NS * CYCLE_NS)


main()  # call: main

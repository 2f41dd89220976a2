# SPDX-License-Identifier: Apache-2.0
"""Four threads that each burn 2 ms of CPU and then sleep for 18 ms."""

import _thread
import sys
import time

from board import ROW, WORDS, clock, cpu_clock, open_board, say_ready

THREADS = 4


def burn():  # share: burn
    end = cpu_clock() + 2000000
    number = 1
    while cpu_clock() < end:
        number = number * 31 % 1000003


def nap():  # share: nap
    time.sleep(0.018)


def sleeper(board, row):  # root
    while True:
        for number, run in enumerate((burn, nap)):
            cpu = cpu_clock()
            begin = clock()
            run()  # call: <share>
            at = row * ROW + number * WORDS
            board[at] += clock() - begin
            board[at + 1] += cpu_clock() - cpu
            board[at + 2] += 1


def main():
    board = open_board(sys.argv[1])
    for row in range(THREADS):
        _thread.start_new_thread(sleeper, (board, row))
    say_ready(["burn", "nap"], THREADS)
    while True:
        time.sleep(3600)


main()  # call: main

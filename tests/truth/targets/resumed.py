# SPDX-License-Identifier: Apache-2.0
"""Generators that are resumed by several callers in turn, and answer each by a function of its own."""

import random
import sys

from board import clock, open_board, plan, run_blocks, say_ready

TURNS = [random.Random(2).randrange(3) for _ in range(997)]


def answer_0(n):
    return n + 1


def answer_1(n):
    return answer_0(n)  # call: answer_0


def answer_2(n):
    for _ in range(5):
        n += 1
    return n


def shared():
    n = 0
    who = yield
    while True:
        if who == 0:
            n = answer_0(n)  # call: answer_0 via: resume_0
        elif who == 1:
            n = answer_1(n)  # call: answer_1 via: resume_1
        else:
            n = answer_2(n)  # call: answer_2 via: resume_2
        who = yield n


def resume_0(generator):
    return generator.send(0)  # call: shared


def resume_1(generator):
    return generator.send(1)  # call: shared


def resume_2(generator):
    return generator.send(2)  # call: shared


# Never closed: that would run them, too, below whoever called the function that had them.
GENERATORS = [shared() for _ in range(4)]  # call: shared <listcomp>


def resume_all(until_ns):  # share: resume
    while clock() < until_ns:
        for number, turn in enumerate(TURNS[:50]):
            generator = GENERATORS[number % 4]
            if turn == 0:
                resume_0(generator)  # call: resume_0
            elif turn == 1:
                resume_1(generator)  # call: resume_1
            else:
                resume_2(generator)  # call: resume_2


def rest(until_ns):  # share: rest
    while clock() < until_ns:
        pass


def main():
    board = open_board(sys.argv[1])
    for generator in GENERATORS:
        next(generator)  # call: shared
    say_ready(["resume", "rest"])
    run_blocks(board, 0, plan([resume_all, rest], [60, 40], 30000, 180000))  # call: run_blocks


main()  # call: main

# SPDX-License-Identifier: Apache-2.0
"""Ten tasks of a real event loop, each awaiting through five coroutines, that burn in turns."""

import asyncio
import sys

from board import ROW, WORDS, clock, open_board, plan, say_ready

TASKS = 10


def burn_most(until_ns):  # share: most
    while clock() < until_ns:
        pass


def burn_some(until_ns):  # share: some
    while clock() < until_ns:
        pass


async def blocks(board, seed):
    assert 2 * WORDS <= ROW
    for run, number, length in plan([burn_most, burn_some], [70, 30], 20000, 100000, 500, seed):
        begin = clock()
        run(begin + length)  # call: <share>
        board[number * WORDS] += clock() - begin
        board[number * WORDS + 2] += 1
        await asyncio.sleep(0)  # call: <library>


async def level_3(board, seed):
    await blocks(board, seed)  # call: blocks


async def level_2(board, seed):
    await level_3(board, seed)  # call: level_3


async def level_1(board, seed):  # from: library
    await level_2(board, seed)  # call: level_2


async def main(board):  # from: library
    await asyncio.gather(*[level_1(board, seed) for seed in range(TASKS)])  # call: level_1 <listcomp> <library>


def start():
    board = open_board(sys.argv[1])
    say_ready(["most", "some"])
    asyncio.run(main(board))  # call: <library> main


start()  # call: start

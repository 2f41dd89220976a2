# SPDX-License-Identifier: Apache-2.0
"""The shares of shares.py inside coroutines, which are driven by hand."""

import sys
import types

from board import clock, open_board, plan, run_blocks, say_ready


@types.coroutine
def pause():
    yield


async def walk_most(until_ns):
    number = 1
    while clock() < until_ns:
        number = number * 31 % 1000003
        await pause()  # call: pause


async def middle_most(until_ns):
    await walk_most(until_ns)  # call: walk_most


async def outer_most(until_ns):
    await middle_most(until_ns)  # call: middle_most


async def walk_some(until_ns):
    number = 1
    while clock() < until_ns:
        for _ in range(30):
            number = number * 31 % 1000003
        await pause()  # call: pause


async def outer_some(until_ns):
    await walk_some(until_ns)  # call: walk_some


async def step_little(number):
    for _ in range(20):
        number = number * 31 % 1000003
    return number


async def outer_little(until_ns):
    number = 1
    while clock() < until_ns:
        number = await step_little(number)  # call: step_little


async def numbers(until_ns):
    while clock() < until_ns:
        await pause()  # call: pause
        yield 1


async def outer_extra(until_ns):
    async for _ in numbers(until_ns):  # call: numbers
        pass


def drive_most(until_ns):  # share: most
    coroutine = outer_most(until_ns)  # call: outer_most
    try:
        while True:
            coroutine.send(None)  # call: outer_most
    except StopIteration:
        pass


def drive_some(until_ns):  # share: some
    coroutine = outer_some(until_ns)  # call: outer_some
    try:
        while True:
            coroutine.send(None)  # call: outer_some
    except StopIteration:
        pass


def drive_little(until_ns):  # share: little
    coroutine = outer_little(until_ns)  # call: outer_little
    try:
        while True:
            coroutine.send(None)  # call: outer_little
    except StopIteration:
        pass


def drive_extra(until_ns):  # share: extra
    coroutine = outer_extra(until_ns)  # call: outer_extra
    try:
        while True:
            coroutine.send(None)  # call: outer_extra
    except StopIteration:
        pass


def main():
    board = open_board(sys.argv[1])
    say_ready(["most", "some", "little", "extra"])
    runs = [drive_most, drive_some, drive_little, drive_extra]
    run_blocks(board, 0, plan(runs, [60, 20, 10, 10], 20000, 180000))  # call: run_blocks


main()  # call: main

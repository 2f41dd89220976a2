# SPDX-License-Identifier: Apache-2.0
"""Functions that call each other for ever, to be compiled by Nuitka. Prints its pid first.

A function calls another one, a generator, and a function of the standard library, which is not compiled and calls back.
"""

import os
import re


def inner(count):
    total = 0
    for number in range(count):
        total += number * number % 7
    return total


def call_function(count):
    return inner(count) + 1


def squares(count):
    for number in range(count):
        yield inner(number % 50)


def call_generator(count):
    return sum(squares(count))


def replace(match):
    return str(inner(500)) + match.group(0)


def call_library(count):
    return re.sub("a", replace, "a" * count)


def main():
    print(os.getpid(), flush=True)
    while True:
        call_function(20000)
        call_generator(1000)
        call_library(40)


if __name__ == "__main__":
    main()

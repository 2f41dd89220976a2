# SPDX-License-Identifier: Apache-2.0
"""Makes lambdas that live for about 30 us each."""

import itertools
import sys

from board import clock, open_board, say_ready
from churn_text import lambdas


def spin(until_ns):
    number = 1
    while clock() < until_ns:
        number = number * 31 % 1000003
    return number


def main():
    open_board(sys.argv[1])
    say_ready([])
    names = {"spin": spin}
    for g in itertools.count():
        function = eval(compile(lambdas(g), "churn-lambda-%d" % g, "eval"), names)  # call: <made> lambdas
        function(clock() + 25000)  # call: <made>


main()  # call: main

# SPDX-License-Identifier: Apache-2.0
"""Makes modules and throws them away all the time; each runs for a moment."""

import itertools
import sys

from board import clock, open_board, say_ready
from churn_text import module


def generation(g):
    names = {"clock": clock}
    exec(compile(module(g), "churn-module-%d" % g, "exec"), names)  # call: <made> module
    top = names["top_%d" % g]
    for _ in range(5):
        top(clock() + 60000)  # call: <made>


def main():
    open_board(sys.argv[1])
    say_ready([])
    for g in itertools.count():
        generation(g)  # call: generation


main()  # call: main

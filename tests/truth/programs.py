# SPDX-License-Identifier: Apache-2.0
"""The truth programs by name: their files, their arguments, and what they can show."""

import os
import sys

import edges

TARGETS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "targets")
sys.path.insert(0, TARGETS)
import churn_text  # noqa: E402


class Recipe:
    """How a program is made. `made`: it makes code as it runs; `recorded`: try the whole tool, too."""

    def __init__(self, script, about, args=(), made=False, recorded=False, text=None):
        self.script, self.about, self.args = script, about, list(args)
        self.made, self.recorded = made, recorded
        self._text = text

    def texts(self):
        names = ["board.py"] + (["churn_text.py"] if self.made else [])
        texts = {name: read(name) for name in names}
        texts[self.script] = self._text() if self._text else read(self.script)
        return texts

    def source_of(self):
        return churn_text.source_of if self.made else lambda file: None


def read(name):
    with open(os.path.join(TARGETS, name), encoding="utf-8") as file:
        return file.read()


RECIPES = {
    "edges": Recipe("edges.py", "small functions with one caller each, fast and deep", [1], text=edges.source),
    "edges4": Recipe("edges.py", "the same in 4 threads that pass the GIL around", [4], text=edges.source),
    "shares": Recipe("shares.py", "70, 20 and 10 % of the time", recorded=True),
    "shares_calls": Recipe("shares_calls.py", "the 70 % are in recursive calls", recorded=True),
    "shares_tick": Recipe("shares_tick.py", "in step with a clock of 10 ms", recorded=True),
    "sleepers": Recipe("sleepers.py", "4 threads, 2 ms of CPU and 18 ms of sleep in turns"),
    "gens": Recipe("gens.py", "the shares inside generators"),
    "coros": Recipe("coros.py", "the shares inside coroutines"),
    "tasks": Recipe("tasks.py", "tasks of an event loop"),
    "churn": Recipe("churn.py", "modules that are made and thrown away", made=True),
    "churn_eval": Recipe("churn_eval.py", "lambdas that live for 30 us", made=True),
    "unwinding": Recipe("unwinding.py", "exceptions unwinding deep stacks"),
    "ccalls": Recipe("ccalls.py", "functions that C code calls"),
    "resumed": Recipe("resumed.py", "generators resumed by several callers"),
    "chunks": Recipe("chunks.py", "recursion over the ends of data stack chunks"),
}

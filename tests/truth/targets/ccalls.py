# SPDX-License-Identifier: Apache-2.0
"""Functions that C code calls: keys of sorts, callbacks of re, slots, descriptors, finalizers."""

import functools
import re
import sys

from board import clock, open_board, plan, run_blocks, say_ready

WORDS = ["w%d" % (n * 7919 % 1000) for n in range(30)]
TEXT = " ".join(WORDS)
PATTERN = re.compile("[0-9]+")


def sort_key(word):
    return pick(word)  # call: pick


def pick(word):
    return word[1:]


def fold(total, word):
    return total + len(word)


def replace(match):
    return turn(match.group())  # call: turn


def turn(text):
    return text[::-1]


def double(word):
    return word * 2


@functools.lru_cache(maxsize=8)
def remember(word):
    return double(word)  # call: double


def compare(one, other):
    return (one > other) - (one < other)


def enter_name(self):
    return 1


def get_size(self):
    return measure(self)  # call: measure


def measure(thing):
    return 1 if thing else 0


def say_bye(self):
    measure(self)  # call: measure


def add_up(self, other):
    return measure(other)  # call: measure


def make(self, word):
    self.word = word


Thing = type("Thing", (), {"size": property(get_size), "__hash__": enter_name, "__del__": say_bye,
                           "__add__": add_up, "__init__": make})


def run_sorts(until_ns):  # share: sorts
    while clock() < until_ns:
        sorted(WORDS, key=sort_key)  # call: sort_key
        sorted(WORDS[:6], key=functools.cmp_to_key(compare))  # call: compare
        max(WORDS, key=lambda word: pick(word))  # call: <lambda> pick


def run_folds(until_ns):  # share: folds
    while clock() < until_ns:
        functools.reduce(fold, WORDS, 0)  # call: fold
        list(map(double, WORDS))  # call: double
        PATTERN.sub(replace, TEXT)  # call: replace
        for word in WORDS:
            remember(word)  # call: remember


def run_slots(until_ns):  # share: slots
    while clock() < until_ns:
        thing = Thing("a")  # call: make say_bye
        thing.size  # call: get_size
        {thing: 1}  # call: enter_name
        thing + 1  # call: add_up
        thing = None  # call: say_bye
        sum(measure(word) for word in WORDS)  # call: <genexpr> measure


def main():
    board = open_board(sys.argv[1])
    say_ready(["sorts", "folds", "slots"])
    run_blocks(board, 0, plan([run_sorts, run_folds, run_slots], [30, 40, 30], 20000, 180000))  # call: run_blocks


main()  # call: main

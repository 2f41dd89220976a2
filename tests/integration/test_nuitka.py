# SPDX-License-Identifier: Apache-2.0
"""Stacks of a program that Nuitka has compiled: its functions link their frames in their own way."""

import collections
import os
import subprocess

import pytest

import live
import nuitka  # of tests/setup, which live puts on the path
import roots
import samples

SAMPLES, PAUSE_US = 5000, 500
SOURCE = os.path.join(live.TARGETS, "compiled.py")
# From the outermost function on; those that are not compiled are of the standard library's re.
WHOLE = [["<module>", "main", "call_function", "inner"],
         ["<module>", "main", "call_generator", "squares", "inner"],
         ["<module>", "main", "call_library", "sub", "replace", "inner"],
         ["<module>", "main", "call_library", "sub", "_compile"]]
MINORS = (11, 12, 13)  # with frames in a data stack, and supported by Nuitka


@pytest.fixture
def program(python):
    """The pid of the compiled program."""
    if int(python["version"].split(".")[1]) not in MINORS:
        pytest.skip("Nuitka is tried on 3.11 to 3.13")
    try:
        path = nuitka.ensure(python, SOURCE, print)
    except roots.Unavailable as reason:
        pytest.skip(str(reason))
    process = subprocess.Popen([path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    yield int(process.stdout.readline())
    process.kill()
    process.stdout.close()
    process.wait()


def is_known(names):
    if names[:len(WHOLE[-1])] == WHOLE[-1]:
        return True  # re compiles an expression once, which calls more
    return bool(names) and any(names == whole[:len(names)] for whole in WHOLE)


@pytest.mark.long
def test_stacks_of_compiled_functions_are_whole(program):
    found = collections.Counter()
    for sample in samples.take(program, SAMPLES, PAUSE_US):
        for thread in sample.threads.values():
            names = [frame["func"] for frame in reversed(thread["frames"])]
            found["refused" if thread["torn"] else " ".join(names) if not is_known(names) else min(len(names), 6)] += sample.times
    refused = found.pop("refused", 0)
    assert set(found) <= set(range(1, 7)) and found[len(WHOLE[0])] > SAMPLES / 10, found
    assert refused < SAMPLES / 1000

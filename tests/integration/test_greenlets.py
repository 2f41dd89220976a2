# SPDX-License-Identifier: Apache-2.0
"""Stacks of greenlets: the one that runs has its whole stack, and never a frame of another's."""

import collections
import os
import re

import pytest

import greenlets  # of tests/setup, which live puts on the path
import live
import roots
import samples

STEPS = 48  # as in tests/targets/greenlets.py
WHOLE = ["root"] + ["step"] * STEPS + ["leaf"]
NUMBERED = re.compile(r"^(root|step|leaf)_(\d+)$")
# Where the stacks begin of what switches: the program itself, gevent's hub, what it calls when a greenlet has ended.
OTHER_ROOTS = ("<module>", "run", "Hub.run", "spawn_again", "spawn.<locals>.spawn_again")
BATCH = 2000
SHORT = {"greenlets": 200, "samples": 2000, "pause_us": 500}
LONG = {"greenlets": 1000, "samples": 50000, "pause_us": 1000}
# A greenlet runs no Python code while it begins or ends. From 3.11 on its data stack is then mapped and unmapped, which
# takes as long as many switches.
EMPTY = "no frame"


def fault_of(frames):
    """What is wrong with a stack; None: nothing is."""
    names = [frame["func"] for frame in reversed(frames)]
    numbered = [NUMBERED.match(name) for name in names]
    own = [match for match in numbered if match]
    if not names:
        return EMPTY
    if not own:
        return None if names[0] in OTHER_ROOTS else "it begins with %s" % names[0]
    kinds = [match.group(1) for match in own]
    if len({match.group(2) for match in own}) > 1:
        return "it is of two greenlets"
    if numbered[:len(own)] != own or kinds != WHOLE[:len(kinds)]:
        return "it is not whole"
    return "it goes on above %s" % names[len(own) - 1] if len(own) < min(len(names), len(WHOLE)) else None


def start_target(start, python, library, count, lifetime):
    try:
        packages = greenlets.ensure(python, print)
    except roots.Unavailable as reason:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(str(reason))
    return start(python, "greenlets.py", library, count, lifetime, packages).read_json()


def count_faults(pid, amounts):
    found = collections.Counter()
    for _ in range(amounts["samples"] // BATCH):
        for sample in samples.take(pid, BATCH, amounts["pause_us"]):
            for thread in sample.threads.values():
                found["refused" if thread["torn"] else fault_of(thread["frames"])] += sample.times
    return found


def check(start, python, library, lifetime, amounts):
    if int(python["version"].split(".")[1]) < 8:
        pytest.skip("the tests' greenlet is for Python from 3.8 on")
    pid = start_target(start, python, library, amounts["greenlets"], lifetime)
    found = count_faults(pid, amounts)
    empty = found.pop(EMPTY, 0)
    assert empty < amounts["samples"] / 2 if lifetime == "ending" else empty == 0
    return found.pop("refused", 0), found


@pytest.mark.releases
@pytest.mark.parametrize("lifetime", ["lasting", "ending"])
@pytest.mark.parametrize("library", ["greenlet", "gevent"])
def test_a_stack_is_whole_and_of_one_greenlet(python, start, library, lifetime):
    refused, found = check(start, python, library, lifetime, SHORT)
    assert set(found) == {None}, found
    assert refused < SHORT["samples"] / 100  # the long form says how few they are


@pytest.mark.long
@pytest.mark.releases
@pytest.mark.alone
@pytest.mark.parametrize("library", ["greenlet", "gevent"])
def test_few_of_a_thousand_greenlets_stacks_are_refused(python, start, library):
    refused, found = check(start, python, library, "ending", LONG)
    assert set(found) == {None}, found
    assert refused < LONG["samples"] / 1000

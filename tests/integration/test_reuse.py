# SPDX-License-Identifier: Apache-2.0
"""What is made again where something was before has its own name, in the first sample that sees it."""

import contextlib
import os
import subprocess

import pytest

import live
import samples

STEPS = 8


def minor_of(python):
    return int(python["version"].split(".")[1])


def take_steps(target):
    """For each step of a program what it says of itself, and the innermost frame of its main thread."""
    own = target.read_json()
    with contextlib.closing(samples.Stepper(own["pid"])) as stepper:
        for step in range(STEPS):
            pid = own["pid"]
            live.wait_until(lambda pid=pid: live.state_of(pid, pid) == "S", "it reads")
            yield own, stepper.take().threads[pid]["frames"][0]
            target.process.stdin.write(b"x")
            target.process.stdin.flush()
            own = target.read_json() if step < STEPS - 1 else None


def check(steps):
    """Compares each step; gives how many were at addresses that were used before."""
    same = 0
    for own, frame in steps:
        seen = {key: frame[key] for key in ("func", "file", "line") if key in own}
        assert seen == {key: own[key] for key in seen}
        same += own.get("same", False)
    return same


@pytest.mark.parametrize("what", ["name", "file", "lines"])
def test_functions_that_are_made_in_turn_at_the_same_addresses(python, start, what):
    same = check(take_steps(start(python, "remade.py", what, STEPS)))

    # From 3.13 on the names of code objects live for ever; what 3.6 and 3.7 allocate varies.
    if 8 <= minor_of(python) <= 12 or (what == "lines" and minor_of(python) > 12):
        assert same > STEPS // 2


@pytest.mark.parametrize("when", ["interpreter", "late"])
def test_interpreters_that_are_made_in_turn(python, start, when):
    if minor_of(python) < 8:
        pytest.skip("sub-interpreters can be made from Python from 3.8 on")

    check(take_steps(start(python, "remade.py", when, STEPS)))


@pytest.fixture
def restarting(python, tmp_path):
    """A program that begins that Python several times."""
    if not python["library"]:
        pytest.skip("there is no libpython of %s" % python["id"])
    program = str(tmp_path / "restarts")
    subprocess.run(["gcc", "-O1", "-o", program, os.path.join(live.TARGETS, "restarts.c"), "-ldl"], check=True)
    words = [program, python["library"], str(STEPS)]
    if python["root"]:
        words[0] = "%s/restarts-%s" % (live.INSIDE, python["id"])
        subprocess.run(live.root_words() + ["install", "-m", "755", program, python["root"] + words[0]], check=True)
        words = live.root_words() + ["chroot", python["root"]] + words
    target = live.Target(words, live.clean_environment(PYTHONHOME=python["prefix"]))
    yield target
    target.stop()


def test_runtimes_that_are_begun_in_turn(restarting):
    check(take_steps(restarting))

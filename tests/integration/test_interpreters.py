# SPDX-License-Identifier: Apache-2.0
"""Sub-interpreters: whose threads are where, and how the stacks of one kernel thread are joined."""

import json

import pytest

import samples


@pytest.fixture
def own(python, start_quiet):
    """What a program with sub-interpreters says of itself."""
    if int(python["version"].split(".")[1]) < 8:
        pytest.skip("sub-interpreters can be made from Python from 3.8 on")
    return start_quiet(python, "interpreters.py")


def dump(pystrobe, own):
    done = pystrobe.run("dump", "--pid", own["pid"], "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["interpreters"]


def test_a_thread_is_shown_once_with_the_inner_interpreters_frames_above_those_that_called_it(pystrobe, own):
    seen = {thread["tid"]: dict(thread, interpreter=interpreter["id"])
            for interpreter in dump(pystrobe, own) for thread in interpreter["threads"]}

    assert sorted(seen) == sorted([own["main"]] + [thread["tid"] for thread in own["threads"]])
    for wanted in own["threads"]:
        thread = seen[wanted["tid"]]
        stack = [frame["func"] for frame in thread["frames"]]
        # Before 3.11 a function has no qualified name.
        assert stack in (wanted["functions"], [name.split(".")[-1] for name in wanted["functions"]])
        assert (thread["name"], thread["interpreter"]) == (wanted["name"], wanted["interpreter"])
    assert (seen[own["main"]]["name"], seen[own["main"]]["interpreter"]) == ("MainThread", 0)


def test_main_is_the_main_thread_alone(pystrobe, own):
    mains = [thread["tid"] for interpreter in dump(pystrobe, own)
             for thread in interpreter["threads"] if thread["main"]]

    assert mains == [own["main"]]


def test_all_quiet_samples_of_sub_interpreters_are_the_same(python, pystrobe, own):
    found = samples.take(own["pid"], 100)

    assert [sample.times for sample in found] == [100], "\n".join(sample.text for sample in found)

# SPDX-License-Identifier: Apache-2.0
"""Sub-interpreters: whose threads are where, and how the stacks of one kernel thread are joined."""

import json

import pytest

import samples


@pytest.fixture
def own(python, start):
    """What a program with sub-interpreters says of itself."""
    if int(python["version"].split(".")[1]) < 8:
        pytest.skip("sub-interpreters can be made from Python from 3.8 on")
    return start(python, "interpreters.py").read_json()


def dump(pystrobe, own):
    done = pystrobe.run("dump", "--pid", own["pid"], "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["interpreters"]


def test_a_thread_is_shown_once_in_the_interpreter_that_runs_on_top(pystrobe, own):
    seen = [(thread["tid"], interpreter["id"], thread["name"])
            for interpreter in dump(pystrobe, own) for thread in interpreter["threads"]]

    wanted = [(thread["tid"], thread["interpreter"], thread["name"]) for thread in own["threads"]]
    assert sorted(seen) == sorted(wanted + [(own["main"], 0, "MainThread")])


def test_the_inner_interpreters_frames_are_above_those_that_called_it(pystrobe, own):
    stacks = {thread["tid"]: [frame["func"] for frame in thread["frames"]]
              for interpreter in dump(pystrobe, own) for thread in interpreter["threads"]}

    for thread in own["threads"]:
        # Before 3.11 a function has no qualified name.
        wanted = {tuple(thread["functions"]), tuple(name.split(".")[-1] for name in thread["functions"])}
        assert tuple(stacks[thread["tid"]]) in wanted


def test_main_is_the_main_thread_and_from_3_13_on_what_runs_an_interpreters_main_module(python, pystrobe, own):
    mains = [thread["tid"] for interpreter in dump(pystrobe, own)
             for thread in interpreter["threads"] if thread["main"]]

    inside = [thread["tid"] for thread in own["threads"] if thread["interpreter"] != 0]
    known = int(python["version"].split(".")[1]) >= 13
    assert sorted(mains) == sorted([own["main"]] + inside * known)


def test_all_quiet_samples_of_sub_interpreters_are_the_same(python, pystrobe, own):
    found = samples.take(own["pid"], 100)

    assert [sample.times for sample in found] == [100], "\n".join(sample.text for sample in found)

# SPDX-License-Identifier: Apache-2.0
"""What pystrobe record shows beside plain stacks, on request: and what it says where a version cannot tell."""

import glob
import os
import re

import pytest

import live
import profiles

HANDLING = ["handles", "in_generator"]
NOT_HANDLING = ["sleep", "handled_before"]


def minor(python):
    return int(python["version"].split(".")[1])


@pytest.fixture
def record(pystrobe, tmp_path):
    """record(pid, *words): (the profile, what was said)."""
    def record_some(pid, *words, seconds=1):
        path = tmp_path / "out.pb.gz"
        done = pystrobe.run("record", "--pid", pid, "-d", "%dms" % (seconds * 1000), "-o", path, *words)
        assert done.returncode == 0, done.stderr
        return profiles.read(path)[0], done.stderr

    return record_some


@pytest.fixture
def any_python():
    """For what is not about Python's own structures."""
    return live.load_pythons()[0][-1]


@pytest.fixture
def states(python, start):
    """states(state, ...): statuses.py with a thread in each."""
    def start_states(*names):
        own = start(python, "statuses.py", *names).read_json()
        return own

    return start_states


def types_of(profile):
    return [value_type["type"] for value_type in profile["sample_types"]]


def funcs(sample):
    return [frame["func"] for frame in sample["stack"]]


def thread_of(sample):
    return str(sample["labels"].get("thread name")).strip("[]'")


def test_the_values_are_those_of_the_modes_in_their_order(any_python, pystrobe, start, tmp_path):
    pid = start(any_python, "busy.py").read_json()["pid"]

    usual = pystrobe.run("record", "--pid", pid, "-d", "300ms", "-o", tmp_path / "usual.pb.gz")
    some = pystrobe.run("record", "--mode", "gil,exception,gil", "--pid", pid, "-d", "1s", "-o", tmp_path / "some.pb.gz")
    text = pystrobe.run("record", "--mode", "wall", "--pid", pid, "-d", "300ms", "-o", "-", "-f", "collapsed")

    assert usual.returncode == some.returncode == text.returncode == 0
    plain = profiles.read(tmp_path / "usual.pb.gz")[0]
    assert types_of(plain) == ["samples", "wall", "cpu", "gil", "wait"]
    assert not [name for sample in plain["samples"] for name in funcs(sample) if name in ("<native>", "<GC>")]
    found = profiles.read(tmp_path / "some.pb.gz")[0]
    assert types_of(found) == ["gil", "exception"] and found["default_type"] == "gil"
    assert profiles.total([found], "gil") > 0
    assert all(any(sample["values"]) for sample in found["samples"])
    assert sum(int(line.rpartition(" ")[2]) for line in text.stdout.splitlines()) > 0.2 * 10**9


def test_threads_main_leaves_all_others_out(any_python, record, start):
    own = start(any_python, "busy.py", "--threads", 2).read_json()

    found, _ = record(own["pid"], "--threads", "main", "--split", "thread")

    named = {thread_of(sample) for sample in found["samples"] if "thread id" in sample["labels"]}
    assert named == {"MainThread"}
    threads = sum(profiles.total([found], name) for name in ("cpu", "gil"))
    assert threads < 0.5 * profiles.total([found], "wall"), "the time of the others"


@pytest.mark.few
def test_threads_in_known_states_are_shown_as_such_or_it_is_said_what_is_unknown(python, record, states):
    own = states("native", "collect", *HANDLING, *NOT_HANDLING)

    found, said = record(own["pid"], "--native", "--gc", "--mode", "exception,wall,gil", "--split", "thread")

    for state in HANDLING + NOT_HANDLING:
        wall, exception = (profiles.total([found], name, lambda sample, state=state: thread_of(sample) == state)
                           for name in ("wall", "exception"))
        assert exception == (wall if state in HANDLING else 0), state
        assert wall > 0, state
    stacks = [funcs(sample) for sample in found["samples"] if thread_of(sample) == "native"]
    assert stacks
    for stack in stacks:  # sorted() calls the key, and map() the function
        places = [stack.index(name) for name in ("by_key", "mapped")]
        assert [stack[place - 1] == "<native>" for place in places] == [minor(python) >= 11] * 2, stack
    leaves = {funcs(sample)[0] for sample in found["samples"]
              if thread_of(sample) == "collect" and sample["values"][profiles.column(found, "gil")] > 0}
    assert ("<GC>" in leaves) == (minor(python) > 6), leaves
    assert ("no <native>" in said) == (minor(python) < 11) and ("no <GC>" in said) == (minor(python) == 6)


def test_opcodes_are_below_the_innermost_function_only(any_python, record, start):
    own = start(any_python, "busy.py").read_json()

    found, _ = record(own["pid"], "--opcodes", "--mode", "cpu")

    stacks = [sample["stack"] for sample in found["samples"] if len(sample["stack"]) > 1]
    assert stacks
    for stack in stacks:
        assert re.fullmatch("<[A-Z][A-Z_0-9]+>", stack[0]["func"]), stack[0]
        assert (stack[0]["file"], stack[0]["line"]) == (stack[1]["file"], stack[1]["line"])
        assert not any(re.fullmatch("<[A-Z_0-9]+>", frame["func"]) for frame in stack[1:])


@pytest.mark.few
@pytest.mark.parametrize("what", ["running", "all"])
def test_async_aware_goes_on_through_what_awaits(python, record, start, what):
    own = start(python, "awaits.py").read_json()

    found, said = record(own["pid"], "--async-aware", what)

    if minor(python) < 14:
        assert "3.14 and later" in said
        assert not any("<task busy>" in funcs(sample) for sample in found["samples"])
        return
    assert "asyncio" not in said
    stacks = [funcs(sample) for sample in found["samples"]]
    busy = [stack for stack in stacks if "computes" in stack]
    # A thread that moved on before its task was read is counted by its own stack.
    through = [stack for stack in busy if "<task busy>" in stack]
    assert 2 * len(through) >= len(busy) > 0
    for stack in through:
        assert stack[stack.index("<task busy>") - 1] == "computes"
        assert stack[stack.index("<task busy>") + 1:] == ["parent", "<task>"]
    waiting = {tuple(stack) for stack in stacks if "waits" in stack}
    expected = {("waits", "<task idle>", "parent", "<task>"), ("waits", "<task>", "parent", "<task>")}
    assert waiting == (expected if what == "all" else set())
    assert profiles.total([found], "cpu", lambda sample: "computes" in funcs(sample)) > 0
    assert profiles.total([found], "cpu", lambda sample: "waits" in funcs(sample)) == 0


@pytest.mark.few
def test_each_task_of_a_cycle_is_shown_with_a_mark_where_it_closes(python, record, start):
    if minor(python) < 14:
        pytest.skip("CPython 3.14 and later tell what awaits a task")
    own = start(python, "cycles.py").read_json()

    found, _ = record(own["pid"], "--async-aware", "all")

    waiting = {tuple(name for name in funcs(sample) if name.startswith("<")) for sample in found["samples"]
               if "goes_round" in funcs(sample)}
    assert waiting == {("<task inner>", "<task left>", "<task right>", "<awaited in a cycle>"),
                       ("<task left>", "<task right>", "<awaited in a cycle>"),
                       ("<task right>", "<task left>", "<awaited in a cycle>")}


def test_tasks_that_wait_are_shown_where_a_format_has_one_value(pystrobe, start, tmp_path):
    found = [python for python in live.load_pythons()[0] if minor(python) >= 14]
    if not found:
        pytest.skip("there is no Python with tasks that can be read")
    own = start(found[-1], "awaits.py").read_json()

    done = pystrobe.run("record", "--pid", own["pid"], "-d", "1s", "--async-aware", "all", "-o", tmp_path / "o.collapsed")

    assert done.returncode == 0, done.stderr
    assert "<task idle>;waits" in (tmp_path / "o.collapsed").read_text()


def test_each_process_has_a_file_of_its_own(any_python, pystrobe, start, tmp_path):
    own = start(any_python, "fork_workers.py", "--workers", 2).read_json()

    done = pystrobe.run("record", "--children", "--pid", own["pid"], "-d", "2s", "--mode", "wall", "-o",
                        tmp_path / "a-%p.jsonl")

    assert done.returncode == 0, done.stderr
    paths = sorted(glob.glob(str(tmp_path / "a-*")))
    assert paths == sorted(str(tmp_path / ("a-%d.jsonl" % pid)) for pid in [own["pid"]] + own["workers"])
    assert "3 files" in done.stderr
    for path in paths:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        assert ("handle_request" in text) == (not path.endswith("-%d.jsonl" % own["pid"]))
        assert os.path.getsize(path) > 100

# SPDX-License-Identifier: Apache-2.0
"""A process goes on until its last thread has ended, also if its first one ends before."""

import json
import time

import pytest

import live
import profiles
import terminal
from conftest import MACHINES

PYTHON = MACHINES[-1]
# Of what the worker took by its own clock; the rest is for machines that have other things to do.
LEAST = 0.25
SECONDS = 3


def end_first(target, pid):
    """Has the first thread of a running leader.py end."""
    target.process.stdin.write(b"x")
    target.process.stdin.flush()
    live.wait_until(lambda: live.state_of(pid, pid) == "Z", "the first thread of %d ends" % pid)


@pytest.fixture
def started(start):
    """started(python): a running leader.py whose first thread has ended, and what it said of itself."""
    def start_one(python):
        target = start(python, "leader.py")
        own = target.read_json()
        end_first(target, own["pid"])
        return target, own

    return start_one


def spun_ns(path, value):
    rows = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    return sum(row["values"][value] for row in rows if any(frame["func"] == "spin_worker" for frame in row["stack"]))


@pytest.mark.releases
def test_it_is_dumped(python, pystrobe, started):
    _, own = started(python)

    done = pystrobe.run("dump", "--json", "--pid", own["pid"])

    assert done.returncode == 0, done.stderr
    threads = [thread for part in json.loads(done.stdout)["interpreters"] for thread in part["threads"]]
    assert "spin_worker" in json.dumps(next(thread for thread in threads if thread["tid"] == own["tid"]))


@pytest.mark.releases
def test_a_recording_goes_on_when_the_first_thread_ends(python, pystrobe, start, tmp_path):
    target = start(python, "leader.py")
    own = target.read_json()
    path = tmp_path / "out.jsonl"
    recording = pystrobe.start("record", "-d", "%ds" % SECONDS, "-o", path, "--pid", own["pid"], stderr=-1, text=True)
    time.sleep(SECONDS / 3)
    end_first(target, own["pid"])
    errors = recording.communicate(timeout=live.DEADLINE_S)[1]
    target.process.stdin.close()

    assert recording.returncode == 0, errors
    assert spun_ns(path, "wall") > 0.8 * SECONDS * 1e9, errors
    assert spun_ns(path, "cpu") > LEAST * min(SECONDS, target.read_json()["cpu"]) * 1e9, errors
    assert " ended " not in errors


def test_a_recording_says_that_it_ended_for_good(pystrobe, started, tmp_path):
    target, own = started(PYTHON)
    recording = pystrobe.start("record", "-d", "60s", "-o", tmp_path / "out.jsonl", "--pid", own["pid"], stderr=-1, text=True)
    time.sleep(1)
    target.end()
    errors = recording.communicate(timeout=live.DEADLINE_S)[1]

    assert recording.returncode == 0, errors
    assert "pystrobe: process %d has ended" % own["pid"] in errors


def test_the_doctor_finds_nothing_wrong(pystrobe, started):
    _, own = started(PYTHON)

    done = pystrobe.run("doctor", "--json", "--pid", own["pid"])

    found = {one["check"]: one["result"] for one in json.loads(done.stdout)["checks"]}
    assert found["process"] == "ok" and found["interpreter"] == "ok", done.stdout


def test_top_shows_it(pystrobe, started, tmp_path):
    _, own = started(PYTHON)
    screen = terminal.Terminal(tmp_path)
    try:
        screen.start(pystrobe.words + [pystrobe.path, "top", "-d", "0.2", "--pid", own["pid"]])
        screen.wait_row(4, "spin_worker")
    finally:
        screen.close()


INI = """
[agent]
rate = 100Hz
interval = 1s
scan = 200ms
[target one]
cmdline = leader.py %s
service = one
[exporter out]
type = store
path = %s
"""


def has_spun(sample):
    return any(frame["func"] == "spin_worker" for frame in sample["stack"])


def test_an_agent_finds_it(agent, tmp_path):
    mark = "m%d" % time.time_ns()
    target = live.Target(live.command_of(PYTHON, "leader.py", mark))
    try:
        own = target.read_json()
        end_first(target, own["pid"])
        watching = agent(INI % (mark, tmp_path / "store"))
        watching.wait_for([own["pid"]])
        live.wait_until(lambda: profiles.paths_in_store(tmp_path / "store", "one"), "a profile", 0.2)
        watching.stop()
    finally:
        target.stop()

    assert profiles.total(profiles.in_store(tmp_path / "store", "one"), "cpu", has_spun) > 0


def test_exec_follows_it(pystrobe, tmp_path):
    command = live.command_of(PYTHON, "leader.py")
    target = live.Target(pystrobe.words + [pystrobe.path, "exec", "--rate", "100Hz", "--store", str(tmp_path / "store"), "--"] + command)
    try:
        end_first(target, target.read_json()["pid"])
        time.sleep(1)
        assert target.end() == 0
        cpu = target.read_json()["cpu"]
    finally:
        target.stop()

    found = profiles.in_store(tmp_path / "store", "leader")
    assert profiles.total(found, "cpu", has_spun) > LEAST * cpu * 1e9

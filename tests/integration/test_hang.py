# SPDX-License-Identifier: Apache-2.0
"""[target] hang_after: what hangs is told once, with a dump, by a label and a number; what only rests is not."""

import os
import re
import signal
import subprocess
import time

import pytest

import live
import profiles
import receiver

AFTER_S = 2
HANGS = {"often": "stuck", "regex": "stuck", "task": "stuck", "deadlock": "deadlock"}
TIMES = {"often": 2, "regex": 1, "task": 1, "deadlock": 1}
INI = """
[agent]
rate = 50Hz
interval = 1s
scan = 200ms
max_cpu = 200%%
max_memory = 4GiB
control = %(dir)s/control.sock
[target hangs]
cmdline = hangs[.]py \\S+ %(mark)s
service = shop
hang_after = %(after)ds
[exporter out]
type = store
path = %(dir)s/store
[exporter server]
type = pyroscope
url = %(url)s
"""


# What runs at the same time, under which Python; nothing of it but `regex` and `loop` takes CPU time.
PLAN = [("often", "3.8"), ("often", "3.15"), ("deadlock", "3.11"), ("deadlock", "3.14"), ("regex", "3.11"), ("task", "3.14"),
        ("server", "3.8"), ("server", "3.15"), ("sleeper", "3.12"), ("short", "3.14"), ("loop", "3.11")]


# Threads that wait for locks: of the first two kinds some are told, whatever the others do.
LOCKS = [(kind, minor) for minor in ("3.8", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15")
         for kind in ("workers", "reentrant", "pool", "holder", "contended")]
CYCLES = ("workers", "reentrant")

MARK = "%d.%06d" % (3 * AFTER_S, os.getpid())  # seconds, and nobody else's


@pytest.fixture
def begin(start):
    """begin(plan): {pid: (kind, minor)} of those whose Python is there."""
    found = {}

    def begin_all(plan, newest=False):
        for kind, minor in plan:
            pythons = [one for one in live.load_pythons()[0] if one["version"].startswith(minor + ".")]
            if pythons:
                python = pythons[-1 if newest else 0]
                found[start(python, "hangs.py", kind, MARK).read_json()["pid"]] = (kind, minor)
        return found

    yield begin_all
    for pid in found:
        os.kill(pid, signal.SIGKILL)


def lines_of(run, pid, text):
    return [line for line in run.log if re.search(r"process %d\b.*%s" % (pid, text), line)]


def await_lines(run, pid, text, count):
    live.wait_until(lambda: len(lines_of(run, pid, text)) >= count,
                    "%d lines %r of %d" % (count, text, pid), 0.1)


def all_told(state, kinds):
    """{pid: target} of a state, or None if it is older than the last hang."""
    found = {target["pid"]: target for target in state["targets"]}
    return found if all(pid in found and found[pid]["hangs"] >= TIMES.get(kind, 0)
                        for pid, (kind, _) in kinds.items()) else None


def hang_profiles(store, pid):
    """The profiles that hangs of a process have for themselves."""
    return [one for one in profiles.in_store(store, "shop") if "label: pid=%d" % pid in one["comments"]]


def check_profiles(found, kind, hung):
    """There is one of each hang, and nothing else in it."""
    assert len(found) == hung, (kind, len(found), hung)
    for one in found:
        assert "label: hang=%s" % HANGS[kind] in one["comments"]
        assert {sample["labels"].get("hang") for sample in one["samples"]} <= {HANGS[kind], None}
        assert kind in {frame["func"] for sample in one["samples"] for frame in sample["stack"]}
        assert profiles.total([one], "samples") > 0 and profiles.total([one], "wall") > 0


@pytest.fixture
def server():
    with receiver.Receiver(profiles.BUILD) as listening:
        yield listening


def test_what_hangs_is_told_once_and_what_rests_or_works_is_not(pystrobe, agent, begin, server, tmp_path):
    run = agent(INI % {"dir": tmp_path, "mark": MARK, "after": AFTER_S, "url": server.url})
    run.wait_for_line("started")
    kinds = begin(PLAN)
    for pid, (kind, _) in kinds.items():
        await_lines(run, pid, "of service shop hangs: ", TIMES.get(kind, 0))
    now = live.wait_until(lambda: all_told(pystrobe.status(tmp_path / "control.sock"), kinds), "a state that has all of them", 0.2)
    text = pystrobe.run("status", "--socket", tmp_path / "control.sock").stdout
    for pid, (kind, _) in kinds.items():
        await_lines(run, pid, r"goes on: it hung for \d+ s", TIMES.get(kind, 1) - 1)

    for pid, (kind, minor) in kinds.items():
        told = lines_of(run, pid, " hangs: ")
        assert len(told) == TIMES.get(kind, 0) or kind == "often", (kind, minor, told)
        if kind in HANGS:
            assert all(("held the GIL" in line) == (HANGS[kind] == "stuck") for line in told)
            assert len(lines_of(run, pid, 'Thread %d "MainThread"' % pid)) == 1, "one dump, of the first hang"
            assert lines_of(run, pid, r"hangs[.]py:\d+ in "), "its stack"
            assert len(lines_of(run, pid, "patient")) == (kind == "task"), "its asyncio tasks"
        if kind != "often":
            assert now[pid]["hangs"] == TIMES.get(kind, 0), (kind, minor)
            assert (now[pid]["hang"] or {"kind": None})["kind"] == HANGS.get(kind), (kind, minor)
    assert re.search(r"^hangs: +[1-9] now, [1-9] stuck and [1-9] deadlocked so far$", text, re.M), text
    assert re.search(r"HANGS \(stuck, thread \d+, 0m \d+s\)$", text, re.M), text
    run.stop()
    labels = [sample["labels"] for profile in profiles.in_store(tmp_path / "store", "shop")
              for sample in profile["samples"]]
    assert {label.get("hang") for label in labels} == {"stuck", "deadlock", None}
    for pid, (kind, _) in kinds.items():
        check_profiles(hang_profiles(tmp_path / "store", pid), kind, len(lines_of(run, pid, " hangs: ")))
        pushed = {push.labels.get("hang") for push in server.pushes if push.labels.get("pid") == str(pid)}
        assert pushed == {HANGS[kind]} if kind in HANGS else not pushed, (kind, pushed)


@pytest.mark.parametrize("newest", [False, True])
def test_threads_that_wait_for_each_others_locks_are_told_and_others_that_wait_for_locks_are_not(agent, begin, server, tmp_path, newest):
    run = agent(INI % {"dir": tmp_path, "mark": MARK, "after": AFTER_S, "url": server.url})
    run.wait_for_line("started")
    kinds = begin(LOCKS, newest)
    run.wait_for(kinds)
    for pid, (kind, _) in kinds.items():
        await_lines(run, pid, "of service shop hangs: ", kind in CYCLES)
    time.sleep(3 * AFTER_S)  # in which the others would be told, if they were

    for pid, (kind, minor) in kinds.items():
        told = lines_of(run, pid, " hangs: ")
        assert len(told) == (kind in CYCLES), (kind, minor, told)
        assert all(re.search(r"for \d+ s thread \d+ and others have waited for each other's locks", line) for line in told)
        assert not lines_of(run, pid, "goes on")


EXEC_INI = """
[agent]
rate = 50Hz
interval = 1s
max_cpu = 200%%
max_memory = 4GiB
[target hangs]
cmdline = hangs[.]py
service = shop
hang_after = 1s
[exporter out]
type = store
path = %s
"""


def test_exec_has_a_profile_of_each_hang_too(pystrobe, tmp_path):
    script = os.path.join(live.TESTS, "targets", "hangs.py")
    (tmp_path / "a.ini").write_text(EXEC_INI % (tmp_path / "store"))
    process = pystrobe.start("exec", "-c", tmp_path / "a.ini", "--", "/usr/bin/python3", script, "often", "2",
                             stderr=subprocess.PIPE, text=True)
    said, going = [], 0
    while going < 2:
        said.append(process.stderr.readline())
        assert said[-1], said
        going += "goes on" in said[-1]
    process.terminate()
    said += process.stderr.readlines()
    process.wait(live.DEADLINE_S)

    hung = sum(" hangs: " in line for line in said)
    own = [one for one in profiles.in_store(tmp_path / "store", "shop") if "label: hang=stuck" in one["comments"]]
    check_profiles(own, "often", hung)

# SPDX-License-Identifier: Apache-2.0
"""What `pystrobe dump` says of each thread beside its stack, and which threads it is asked for."""

import json
import os

import pytest

import samples

SAMPLES = 100
PAUSE_US = 700  # not a divisor of the interpreters' switch interval
HANDLING = ["handles", "handles_in_callee", "finally_of_raise", "handled_inner", "in_generator",
            "handles_around_generator", "in_coroutine"]
NOT_HANDLING = ["sleep", "handled_before", "handled_by_callee", "generator_left"]


def minor(python):
    return int(python["version"].split(".")[1])


def threads_of(document):
    return {thread["tid"]: thread for interpreter in document["interpreters"] for thread in interpreter["threads"]}


def dump(pystrobe, pid, *options):
    """{tid: thread} of a dump with these options."""
    done = pystrobe.run("dump", "--pid", pid, "--json", *options)
    assert done.returncode == 0, done.stderr
    return threads_of(json.loads(done.stdout))


def names(thread):
    return [frame["func"].split(".")[-1] for frame in thread["frames"]]



def holders(sample):
    return [tid for tid, thread in sample.threads.items() if "gil" in thread["status"]]


def test_a_thread_that_spins_holds_the_gil_and_is_on_cpu_and_one_that_sleeps_does_nothing(python, pystrobe, start):
    own = start(python, "statuses.py", "sleep", "spin").read_json()
    spins = own["tids"]["spin"]

    found = samples.take(own["pid"], SAMPLES, PAUSE_US)

    assert samples.share(found, spins, "gil") > 0.9
    assert samples.share(found, spins, "cpu") > 0.2  # others may want the CPU as well
    for sample in found:
        assert sample.threads[own["tids"]["sleep"]]["status"] == []
        assert sample.threads[own["main"]]["status"] == []
        assert sample.threads[spins]["status"] in (["gil", "cpu"], ["gil"])


def test_of_two_threads_that_spin_one_holds_the_gil_and_the_other_waits(python, pystrobe, start):
    own = start(python, "statuses.py", "spin", "spin2").read_json()
    both = own["tids"]["spin"], own["tids"]["spin2"]

    found = samples.take(own["pid"], SAMPLES, 3700)

    assert all(len(holders(sample)) <= 1 for sample in found)
    assert all(samples.share(found, tid, "gil") > 0 for tid in both)
    assert sum(samples.share(found, tid, "gil") for tid in both) > 0.5  # else it is handed over
    waits = sum(samples.share(found, tid, "gil_wait") for tid in both)
    assert waits > 0.5 if minor(python) >= 15 else waits == 0
    for sample in found:
        for thread in sample.threads.values():
            assert not {"gil", "gil_wait"} <= set(thread["status"])


def test_a_thread_that_handles_an_exception_says_so_and_no_other(python, pystrobe, start):
    own = start(python, "statuses.py", *HANDLING, *NOT_HANDLING).read_json()

    seen = dump(pystrobe, own["pid"])

    said = [state for state, tid in own["tids"].items() if "exception" in seen[tid]["status"]]
    assert sorted(said) == sorted(HANDLING)
    assert "exception" not in seen[own["main"]]["status"]


def test_mode_exception_shows_those_threads_only(python, pystrobe, start):
    own = start(python, "statuses.py", "sleep", "handles", "in_generator").read_json()

    seen = dump(pystrobe, own["pid"], "--mode", "exception")

    assert sorted(seen) == sorted([own["tids"]["handles"], own["tids"]["in_generator"]])


def test_a_thread_that_collects_garbage_says_so(python, pystrobe, start):
    own = start(python, "statuses.py", "sleep", "collect").read_json()

    found = samples.take(own["pid"], SAMPLES, PAUSE_US)

    collects = samples.share(found, own["tids"]["collect"], "gc")
    assert collects > 0.8 if minor(python) > 6 else collects == 0  # 3.6 does not say
    assert samples.share(found, own["tids"]["sleep"], "gc") == 0


@pytest.mark.parametrize("option", [True, False], ids=["with", "without"])
def test_gc_is_on_top_of_what_collects_if_asked_for(python, pystrobe, start, option):
    own = start(python, "statuses.py", "sleep", "collect").read_json()

    tops = set()
    for _ in range(10):
        seen = dump(pystrobe, own["pid"], *["--gc"] * option)
        tops.add(tuple(names(seen[own["tids"]["collect"]])[:2]))
        assert "<GC>" not in names(seen[own["tids"]["sleep"]])

    shown = ("<GC>", "collect") in tops
    assert shown == (option and minor(python) > 6), tops


def test_gc_is_below_the_finalizer_that_it_runs_where_the_version_tells(python, pystrobe, start):
    own = start(python, "statuses.py", "collect_finalizer").read_json()

    thread = dump(pystrobe, own["pid"], "--gc")[own["tids"]["collect_finalizer"]]

    wanted = ["spin", "__del__", "collect_finalizer", "run"]
    if minor(python) >= 15:
        wanted.insert(2, "<GC>")
    elif minor(python) > 6:
        wanted.insert(0, "<GC>")
    assert names(thread)[:len(wanted)] == wanted


def test_native_is_exactly_where_c_code_separates_python_frames(python, pystrobe, start):
    own = start(python, "statuses.py", "native").read_json()

    seen = names(dump(pystrobe, own["pid"], "--native")[own["tids"]["native"]])
    bare = names(dump(pystrobe, own["pid"])[own["tids"]["native"]])

    wanted = ["rest", "<lambda>", "<native>", "mapped", "plain", "<lambda>", "<native>", "by_key", "native", "run"]
    if minor(python) < 11:
        wanted = [name for name in wanted if name != "<native>"]  # it cannot be told
    assert seen[:len(wanted)] == wanted
    assert bare == [name for name in seen if name != "<native>"]


def test_threads_main_shows_the_main_thread_only(python, pystrobe, start):
    own = start(python, "statuses.py", "sleep", "spin").read_json()

    assert list(dump(pystrobe, own["pid"], "--threads", "main")) == [own["main"]]


@pytest.mark.parametrize("option", [("--threads", "gil"), ("--mode", "gil")], ids=" ".join)
def test_threads_gil_and_mode_gil_show_the_holder_only(python, pystrobe, start, option):
    own = start(python, "statuses.py", "sleep", "spin").read_json()

    seen = [list(dump(pystrobe, own["pid"], *option)) for _ in range(5)]

    assert seen == [[own["tids"]["spin"]]] * 5


def test_mode_cpu_leaves_out_who_sleeps(python, pystrobe, start):
    own = start(python, "statuses.py", "sleep", "spin").read_json()

    seen = [list(dump(pystrobe, own["pid"], "--mode", "cpu")) for _ in range(10)]

    assert all(tids in ([], [own["tids"]["spin"]]) for tids in seen)
    assert [own["tids"]["spin"]] in seen


def test_a_mode_that_is_not_known_is_refused(pystrobe):
    done = pystrobe.run("dump", "--pid", os.getpid(), "--mode", "sleepy")

    assert done.returncode == 64
    assert "--mode is one of wall, cpu, gil, exception, not 'sleepy'" in done.stderr

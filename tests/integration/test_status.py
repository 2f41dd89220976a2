# SPDX-License-Identifier: Apache-2.0
"""What `pystrobe dump` says of each thread beside its stack, and which threads it is asked for."""

import json
import os

import pytest

import live
import samples

SAMPLES = 100
ENOUGH = 5  # samples that show what is only true now and then
PAUSE_US = 700
MOVING = {"spin", "spin2", "collect", "collect_finalizer"}  # states in which a thread does not sleep
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


@pytest.fixture
def run(python, start):
    """run(state, ...): what statuses.py says of itself, once all that is to sleep sleeps."""
    def run_states(*states):
        own = start(python, "statuses.py", *states).read_json()
        live.wait_until_asleep(own["pid"], [own["main"]] + [own["tids"][state] for state in set(states) - MOVING])
        return own

    return run_states


def test_a_thread_that_spins_holds_the_gil_and_is_on_cpu_and_one_that_sleeps_does_nothing(run):
    own = run("sleep", "spin")
    spins = own["tids"]["spin"]

    found = samples.take_until(lambda found: samples.times(found, spins, "cpu") >= ENOUGH, own["pid"], PAUSE_US)

    for sample in found:
        assert samples.holders(sample) == [spins]
        assert sample.threads[own["tids"]["sleep"]]["status"] == []
        assert sample.threads[own["main"]]["status"] == []


def test_of_two_threads_that_spin_one_holds_the_gil_and_the_other_waits(python, run):
    own = run("spin", "spin2")
    both = {own["tids"]["spin"], own["tids"]["spin2"]}
    tells_who_waits = minor(python) >= 15
    wanted = ["gil", "gil_wait"] if tells_who_waits else ["gil"]

    found = samples.take_until(
        lambda found: all(samples.times(found, tid, status) >= ENOUGH for tid in both for status in wanted),
        own["pid"], PAUSE_US, "waiters")

    for sample in found:
        waiting = {tid for tid, thread in sample.threads.items() if "gil_wait" in thread["status"]}
        assert len(samples.holders(sample)) <= 1  # none while it is handed over
        assert set(samples.holders(sample)) | waiting <= both
        assert tells_who_waits or not waiting
        assert not waiting & set(samples.holders(sample))


def test_a_thread_that_handles_an_exception_says_so_and_no_other(pystrobe, run):
    own = run(*HANDLING, *NOT_HANDLING)

    seen = dump(pystrobe, own["pid"])

    said = [state for state, tid in own["tids"].items() if "exception" in seen[tid]["status"]]
    assert sorted(said) == sorted(HANDLING)
    assert "exception" not in seen[own["main"]]["status"]


def test_mode_exception_shows_those_threads_only(pystrobe, run):
    own = run("sleep", "handles", "in_generator")

    seen = dump(pystrobe, own["pid"], "--mode", "exception")

    assert sorted(seen) == sorted([own["tids"]["handles"], own["tids"]["in_generator"]])


def test_a_thread_that_collects_garbage_says_so(python, run):
    own = run("sleep", "collect")

    found = samples.take(own["pid"], SAMPLES, PAUSE_US)

    collects = samples.times(found, own["tids"]["collect"], "gc")
    assert collects > 0.8 * SAMPLES if minor(python) > 6 else collects == 0  # 3.6 does not say
    assert samples.times(found, own["tids"]["sleep"], "gc") == 0


@pytest.mark.parametrize("option", [True, False], ids=["with", "without"])
def test_gc_is_on_top_of_what_collects_if_asked_for(python, pystrobe, run, option):
    own = run("sleep", "collect")

    tops = set()
    for _ in range(4):
        seen = dump(pystrobe, own["pid"], *["--gc"] * option)
        tops.add(tuple(names(seen[own["tids"]["collect"]])[:2]))
        assert "<GC>" not in names(seen[own["tids"]["sleep"]])

    shown = ("<GC>", "collect") in tops
    assert shown == (option and minor(python) > 6), tops


def test_gc_is_below_the_finalizer_that_it_runs_where_the_version_tells(python, pystrobe, run):
    own = run("collect_finalizer")

    thread = dump(pystrobe, own["pid"], "--gc")[own["tids"]["collect_finalizer"]]

    wanted = ["spin", "__del__", "collect_finalizer", "run"]
    if minor(python) >= 15:
        wanted.insert(2, "<GC>")
    elif minor(python) > 6:
        wanted.insert(0, "<GC>")
    assert names(thread)[:len(wanted)] == wanted


def test_native_is_exactly_where_c_code_separates_python_frames(python, pystrobe, run):
    own = run("native")

    seen = names(dump(pystrobe, own["pid"], "--native")[own["tids"]["native"]])
    bare = names(dump(pystrobe, own["pid"])[own["tids"]["native"]])

    wanted = ["rest", "<lambda>", "<native>", "mapped", "plain", "<lambda>", "<native>", "by_key", "native", "run"]
    if minor(python) < 11:
        wanted = [name for name in wanted if name != "<native>"]  # it cannot be told
    assert seen[:len(wanted)] == wanted
    assert bare == [name for name in seen if name != "<native>"]


def test_threads_main_shows_the_main_thread_only(pystrobe, run):
    own = run("sleep", "spin")

    assert list(dump(pystrobe, own["pid"], "--threads", "main")) == [own["main"]]


@pytest.mark.parametrize("option", [("--threads", "gil"), ("--mode", "gil")], ids=" ".join)
def test_threads_gil_and_mode_gil_show_the_holder_only(pystrobe, run, option):
    own = run("sleep", "spin")

    seen = [list(dump(pystrobe, own["pid"], *option)) for _ in range(3)]

    assert seen == [[own["tids"]["spin"]]] * 3


@pytest.mark.few
def test_mode_cpu_leaves_out_who_sleeps(pystrobe, run):
    own = run("sleep", "spin")
    seen = []

    def is_shown():
        seen.append(list(dump(pystrobe, own["pid"], "--mode", "cpu")))
        return seen[-1]

    live.wait_until(is_shown, "it is on a CPU")  # others may have them all
    assert seen == [[]] * (len(seen) - 1) + [[own["tids"]["spin"]]]


def test_a_mode_that_is_not_known_is_refused(pystrobe):
    done = pystrobe.run("dump", "--pid", os.getpid(), "--mode", "sleepy")

    assert done.returncode == 64
    assert "--mode is one of wall, cpu, gil, exception, not 'sleepy'" in done.stderr

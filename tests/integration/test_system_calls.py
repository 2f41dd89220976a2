# SPDX-License-Identifier: Apache-2.0
"""What a sample takes and what it does to the target: system calls, counted by strace, and allocations."""

import os
import re
import sys

import pytest

import live

sys.path.insert(0, os.path.join(live.TESTS, "bench"))
import sides  # noqa: E402
import straced  # noqa: E402

SAMPLES = 50
WARM_ROUNDS_MAX = 20  # until all that the program ever does was seen
# Of a sample, at most and on average, where nothing but the running thread moves: one call reads what there is to read.
# Where the GIL tells who can have run none does if the only thread sleeps; some more are for what is new.
# To take the CPU of a thread that moves too fast to be read from another one takes seven or so.
GIL_TELLS_FROM = (3, 12)
READS_PER_SAMPLE_MAX = {"busy": 2, "basic": 3, "deep900_sleep": 0.5, "threads100_idle": 2}
READS_PER_SAMPLE_MAX_BEFORE = {"busy": 1.5, "basic": 2, "deep900_sleep": 1.5, "threads100_idle": 4}
CALLS_PER_SAMPLE_MAX = 14


@pytest.fixture
def reader_of(python, start):
    """reader_of(workload, operation) starts that program; gives the words that run our reader of it."""

    def start_one(workload, operation="stack"):
        if not sides.is_able(python, workload, operation):
            pytest.skip("%s has no %s" % (python["id"], workload))
        script = os.path.join(sides.HERE, "targets", "workload.py")
        pid = start(python, script, workload).read_json()["pid"]
        build = os.environ.get("PYSTROBE_BUILD", os.path.join(live.TREE, "build"))
        return sides.our_words(build, pid, operation, "wall")

    return start_one


@pytest.fixture
def trace(reader_of):
    """The same, but gives what strace wrote of the reader, from its first call to its last."""
    if not sides.can_strace():
        pytest.skip("strace is not installed")
    return lambda *words: sides.trace(reader_of(*words), SAMPLES)


@pytest.mark.timing
@pytest.mark.few
@pytest.mark.parametrize("workload", READS_PER_SAMPLE_MAX)
def test_a_sample_takes_few_system_calls_where_only_the_running_thread_moves(python, trace, workload):
    gil_tells = sides.version_of(python) >= GIL_TELLS_FROM

    counted = straced.per_sample(trace(workload), SAMPLES)

    reads, calls = counted["by_name"].get("process_vm_readv", 0), counted["system_calls"]
    assert 0 < calls <= CALLS_PER_SAMPLE_MAX, counted["by_name"]
    assert reads <= (READS_PER_SAMPLE_MAX if gil_tells else READS_PER_SAMPLE_MAX_BEFORE)[workload], counted["by_name"]


@pytest.mark.timing
@pytest.mark.parametrize("workload, operation", [
    ("busy", "stack"), ("fib_busy", "stack"), ("threads20_mixed", "stack"), ("async100", "all-tasks")])
@pytest.mark.few
def test_nothing_is_written_to_the_target_nor_stopped_nor_signalled(trace, workload, operation):
    text = trace(workload, operation)

    names = [name for name, _ in straced.calls_of(text)]
    assert "process_vm_readv" in names and names.count(straced.MARKER) == 4
    assert straced.forbidden_in(text) == []


# What a recording does beside samples. Of what is not here some is for both.
OTHER_WORK = {"getdents64", "write", "sendto", "sendmsg", "recvfrom", "recvmsg", "rename", "fsync", "clone", "clone3", "unlink"}
SEATED_RATE = 200


@pytest.mark.timing
@pytest.mark.few
def test_a_recording_is_in_a_real_time_class_for_sleeps_and_samples_only(python, start, trace_recording):
    pid = start(python, "busy.py", "--duty", 1).read_json()["pid"]
    errors, text = trace_recording(pid, SEATED_RATE, 3)
    samples, entered, inside, seated = int(re.search(r"(\d+) samples", errors).group(1)), 0, False, []
    for name, rest in straced.calls_of(text):
        if name in ("sched_setscheduler", "sched_setattr"):
            if "SCHED_FIFO" in rest and "EPERM" in rest:
                pytest.skip("the class is denied here")
            inside = "SCHED_FIFO" in rest
            entered += inside
        elif inside:
            seated.append(name)

    assert samples > SEATED_RATE / 2
    assert 0 < entered < samples / 2, "it changes class all the time"
    assert seated.count("process_vm_readv") + seated.count("bpf") > samples / 4, "it samples from elsewhere"
    assert OTHER_WORK.isdisjoint(seated), sorted(OTHER_WORK.intersection(seated))


FAST_RATE = 1000


# Whoever comes late sets its timer again: how often that is says more of the machine than of us.
@pytest.mark.nightly
@pytest.mark.alone
@pytest.mark.timing
@pytest.mark.few
def test_at_a_high_rate_a_timer_is_set_once_a_sample(python, start, trace_recording):
    pid = start(python, "busy.py", "--duty", 1).read_json()["pid"]
    calls = straced.calls_of(trace_recording(pid, FAST_RATE, 2)[1])
    waits = [rest for name, rest in calls if name == "ppoll"]
    set_ahead = [rest for rest in waits if ", NULL, NULL," in rest]
    if any("SCHED_FIFO" in rest and "EPERM" in rest for _, rest in calls):
        pytest.skip("the class is denied here")

    timers = [name for name, _ in calls].count("timerfd_settime")
    # A loaded machine gives it few turns in these seconds: enough of them to tell one in two from none.
    assert len(waits) > 20 and len(set_ahead) > len(waits) / 2, "it sets each timer when it is about to sleep"
    assert timers < 1.5 * len(set_ahead) + 10


@pytest.mark.few
def test_a_warm_sample_allocates_nothing(reader_of):
    with sides.reader(reader_of("fib_busy")) as reader:
        rounds = (sides.ask(reader, "round", 100) for _ in range(WARM_ROUNDS_MAX))

        told = next((told for told in rounds if told["calls"] > 10 and told["allocations"] == 0), None)

    assert told is not None and told["whole"] > 0

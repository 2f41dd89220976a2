# SPDX-License-Identifier: Apache-2.0
"""Files for profiler.firefox.com that record writes: when what ran, in which thread."""

import json
import time

import pytest

import live

RATE = 200
NAME = 'the "worker" </script>'
# The worker does one thing after another, each for half a second of its own CPU time, and lives on so that its last
# sample knows all of that; one thread sleeps meanwhile, one ends soon. The last line is what they took.
PHASES = """
import json, threading, time

def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(500))

def phase_a():
    spin(0.5)

def phase_b():
    spin(0.5)

def work():
    began = time.monotonic()
    phase_a()
    took["change"] = time.time()
    phase_b()
    took["end"] = time.time()
    took["cpu"] = time.thread_time()
    time.sleep(0.5)
    took["wall"] = time.monotonic() - began

def end_soon():
    spin(0.1)
    time.sleep(0.3)
    took["short_end"] = time.time()

took = {}
threads = [threading.Thread(target=work, name=%r), threading.Thread(target=time.sleep, args=(2.2,), name="sleeper"),
           threading.Thread(target=end_soon, name="short")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps(took))
""" % NAME
FAMILY = """
import os, time
def burn():
    end = time.process_time() + 0.5
    while time.process_time() < end: sum(range(500))
child = os.fork()
burn()
if child: os.waitpid(child, 0)
"""


class Recording:
    """A file that record has written, and what the program printed."""

    def __init__(self, path, done):
        self.data = json.loads(path.read_text(encoding="utf-8"))
        self.said = done.stderr
        self.took = json.loads(done.stdout or "{}")
        self.threads = {thread["name"]: thread for thread in self.data["threads"]}

    def functions(self, stack):
        shared = self.data["shared"]
        names = []
        while stack is not None:
            func = shared["frameTable"]["func"][shared["stackTable"]["frame"][stack]]
            names.append(shared["stringArray"][shared["funcTable"]["name"][func]])
            stack = shared["stackTable"]["prefix"][stack]
        return names

    def times(self, thread, function):
        """When the function was on the stack of that thread, ms."""
        samples = self.threads[thread]["samples"]
        return [at for at, stack in zip(samples["time"], samples["stack"]) if function in self.functions(stack)]

    def weight(self, thread):
        return sum(self.threads[thread]["samples"]["weight"])

    def value(self):
        """The entries of the profile's panel about times."""
        section, = self.data["meta"]["extra"]
        assert section["label"] == "Time line"
        return {entry["label"]: entry["value"] for entry in section["entries"]}


@pytest.fixture
def record(pystrobe, tmp_path):
    def record_one(code, *words):
        script, path = tmp_path / "program.py", tmp_path / "out.gecko.json"
        script.write_text(code, encoding="utf-8")
        done = pystrobe.run("record", "-r", RATE, "-o", path, *words, "--", "/usr/bin/python3", script)
        assert done.returncode == 0, done.stderr
        return Recording(path, done)

    return record_one


def check_times(recording, thread):
    samples = thread["samples"]
    columns = [samples[name] for name in ("stack", "time", "weight", "threadCPUDelta")]
    assert {len(column) for column in columns} == {samples["length"]}
    assert samples["time"] == sorted(samples["time"])
    assert 0 <= samples["time"][0] and samples["time"][-1] <= recording.data["meta"]["profilingEndTime"]
    assert thread["registerTime"] == samples["time"][0] and thread["unregisterTime"] == samples["time"][-1]
    assert all(weight >= 0 for weight in samples["weight"] + samples["threadCPUDelta"])


def test_samples_have_the_times_at_which_they_were_taken(record):
    before_ms = time.time() * 1e3
    recording = record(PHASES)
    after_ms = time.time() * 1e3
    meta = recording.data["meta"]
    first, second = recording.times(NAME, "phase_a"), recording.times(NAME, "phase_b")
    change_ms, end_ms, short_end_ms = (recording.took[name] * 1e3 - meta["startTime"] for name in ("change", "end", "short_end"))

    assert {"MainThread", NAME, "sleeper", "short"} <= set(recording.threads)
    assert before_ms <= meta["startTime"] and meta["startTime"] + meta["profilingEndTime"] <= after_ms + 1
    assert max(first) < change_ms + 10 and change_ms - 10 < min(second) and max(second) < end_ms + 10  # the clocks are two
    for times, most_s in ((first, change_ms / 1e3), (second, (end_ms - change_ms) / 1e3)):
        assert 10 < len(times) < 1.2 * RATE * most_s + 2, "no more than a sample each 5 ms; fewer on a busy machine"
    for name in ("MainThread", NAME, "sleeper", "short"):
        check_times(recording, recording.threads[name])
    assert recording.times("short", "spin")[-1] < short_end_ms + 10, "it has ended"
    assert recording.threads["sleeper"]["samples"]["length"] < 20, "a sleep is two samples"
    assert [name for name, thread in recording.threads.items() if thread["isMainThread"]] == ["MainThread"]
    assert recording.value()["Time"].startswith("samples with their times; the weight of each is its part of the cpu")
    assert "Left out" not in recording.value() and "without a time" not in recording.said


def test_weights_and_cpu_deltas_add_up_to_the_cpu_time(record):
    recording = record(PHASES)
    cpu_ms = recording.took["cpu"] * 1e3

    assert recording.weight(NAME) == pytest.approx(cpu_ms, rel=0.05)
    assert sum(recording.threads[NAME]["samples"]["threadCPUDelta"]) / 1e6 == pytest.approx(cpu_ms, rel=0.05)
    assert recording.weight("sleeper") < 50
    assert sum(recording.threads["sleeper"]["samples"]["threadCPUDelta"]) / 1e6 < 50


@pytest.mark.parametrize("words, value", [
    (["--mode", "wall"], "wall"), (["--mode", "gil,wall"], "gil"), (["--mode", "exception"], "exception"),
    (["--async-aware", "all"], "wall"), (["--native", "--gc", "--opcodes", "--split", "none"], "cpu"),
], ids=lambda value: " ".join(value) if isinstance(value, list) else None)
def test_each_mode_has_its_own_weights(record, words, value):
    recording = record(PHASES, *words)
    wall_ms, cpu_ms = recording.took["wall"] * 1e3, recording.took["cpu"] * 1e3
    least, most = {"wall": (0.9 * wall_ms, 1.02 * wall_ms + 200), "gil": (0.5 * cpu_ms, wall_ms), "exception": (0, 0.1 * cpu_ms),
                   "cpu": (0.95 * cpu_ms, 1.05 * cpu_ms)}[value]

    assert " of the %s time of its stack" % value in recording.value()["Time"]
    assert least <= recording.weight(NAME) <= most
    assert max(recording.times(NAME, "phase_a")) < min(recording.times(NAME, "phase_b"))


def test_the_main_thread_alone_is_recorded_on_request(record):
    recording = record(PHASES, "--threads", "main")

    assert set(recording.threads) - {"sums without times"} == {"MainThread"}


def test_each_process_has_its_threads(record):
    recording = record(FAMILY)
    threads = [thread for thread in recording.data["threads"] if thread["name"] == "MainThread"]

    assert len({thread["pid"] for thread in threads}) == len(threads) == 2
    for thread in threads:
        check_times(recording, thread)
        assert thread["isMainThread"] and thread["pid"] == str(thread["tid"])
        assert sum(thread["samples"]["weight"]) == pytest.approx(500, rel=0.2)


def test_each_process_may_have_a_file(pystrobe, tmp_path):
    done = pystrobe.run("record", "-r", RATE, "-o", tmp_path / "out-%p.gecko.json", "--", "/usr/bin/python3", "-c", FAMILY)
    files = [json.loads(path.read_text(encoding="utf-8")) for path in tmp_path.glob("out-*.gecko.json")]

    assert done.returncode == 0, done.stderr
    assert len(files) == 2
    for data in files:
        assert len([thread for thread in data["threads"] if thread["isMainThread"]]) == 1
        assert data["meta"]["profilingEndTime"] > 0


def test_what_has_no_samples_is_told_apart(record):
    """A child that is no Python, and threads without Python, are in no sample."""
    code = "import subprocess\nsubprocess.run(['sh', '-c', 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'])"
    recording = record(code)
    untimed = recording.threads["sums without times"]

    assert set(untimed["samples"]["time"]) == {0} and not untimed["isMainThread"]
    assert sum(untimed["samples"]["weight"]) > 50
    assert 'in the thread "sums without times"' in recording.value()["Without times"]

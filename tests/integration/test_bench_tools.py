# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of whole tools measure what they say, and understand what each tool prints."""

import contextlib
import json
import os
import subprocess
import sys
import time

import pytest

import live

sys.path.insert(0, os.path.join(live.TESTS, "bench"))
import tools  # noqa: E402
import tools_cost  # noqa: E402
import tools_measure  # noqa: E402
import tools_peers  # noqa: E402
import tools_stats  # noqa: E402

pytestmark = pytest.mark.tools

BUILD = os.path.abspath(os.environ.get("PYSTROBE_BUILD", os.path.join(live.TREE, "build")))
PYSPY_SAID = """py-spy> Sampling process 100 times a second for 2 seconds. Press Control-C to exit.

py-spy> Wrote raw flamegraph data to 'out'. Samples: 399 Errors: 10
"""
SAMPLING_SAID = """Captured 1900 samples in 2.00 seconds
Sample rate: 950.00 samples/sec
Error rate: 50.00
Warning: missed 100 samples from the expected total of 2000 (5.00%)
"""
BURN = """
import threading, time
threads = [threading.Thread(target=lambda: sum(range(4000000))) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(time.process_time())
block = bytearray(32 << 20)
raise SystemExit(7)
"""


def some_python():
    return next(python for python in live.load_pythons()[0] if not python["debug"])


def test_losses_of_py_spy_are_a_share_of_the_moments_that_were_asked_for():
    assert tools_peers.read_pyspy(PYSPY_SAID) == {"taken": 399, "lost_percent": 5.0}


def test_losses_of_pythons_profiler_are_its_errors_and_what_it_was_too_late_for():
    assert tools_peers.read_sampling(SAMPLING_SAID) == {"taken": 950, "lost_percent": 52.5}


def test_losses_of_pystrobe_are_ticks_samples_and_stacks():
    said = {"samples": 90, "missed": 10, "failed": {"gone": 1, "raced": 9}, "unwinder": {"threads": 150, "torn": 50}}

    read = tools_peers.read_pystrobe("pystrobe: 90 samples\n%s\n" % json.dumps(said))

    assert read["taken"] == 81
    assert read["lost_percent"] == pytest.approx(100 * (1 - 0.81 * 0.75))


@pytest.mark.parametrize("read", [
    tools_peers.read_pystrobe, tools_peers.read_pyspy, tools_peers.read_sampling, tools_peers.read_word])
def test_what_a_tool_does_not_usually_say_is_no_zero(read):
    with pytest.raises(tools_peers.Unreadable):
        read("Segmentation fault")


def test_the_interval_of_a_median_holds_it_and_narrows_with_more_values():
    few, many = [1.0, 2.0, 3.0, 4.0, 9.0], [1.0, 2.0, 3.0, 4.0, 9.0] * 40

    low, high = tools_stats.median_interval(few)
    narrow_low, narrow_high = tools_stats.median_interval(many)

    assert low <= 3.0 <= high
    assert narrow_high - narrow_low < high - low


def figure(*rounds):
    return tools.summary_of(list(rounds))


def test_a_verdict_takes_rounds_that_do_not_overlap():
    low, high, between = figure(1, 2, 3), figure(7, 8, 9), figure(2, 5, 8)

    assert tools.verdict(low, high, less_is_better=True) == "better"
    assert tools.verdict(low, high, less_is_better=False) == "worse"
    assert tools.verdict(low, between, less_is_better=True) == "unclear"
    assert tools.verdict(figure(1), figure(9), less_is_better=True) == "unclear"
    assert tools.verdict(figure(0, 0, 0), figure(0, 0, 0), less_is_better=True) == "same"


def test_a_bar_is_missed_only_if_the_whole_interval_lies_below():
    assert tools_cost.judge([0.996, 0.997, 0.998] * 3, 0.995, noise=0.001) == "reached"
    assert tools_cost.judge([0.98, 0.994, 0.999] * 3, 0.995, noise=0.001) == "unclear"
    assert tools_cost.judge([0.96, 0.97, 0.98] * 3, 0.995, noise=0.001) == "missed"


def test_no_bar_is_judged_by_too_few_pairs_or_on_a_restless_machine():
    assert tools_cost.judge([0.9] * 5, 0.995, noise=0.001) == "unclear"
    assert tools_cost.judge([0.9] * 9, 0.995, noise=0.02) == "unclear"
    assert tools_cost.judge([1.1] * 9, 0.995, noise=0.02) == "unclear"


@pytest.mark.timing  # a sanitizer takes memory of its own
def test_what_a_command_took_is_that_of_its_threads_and_no_more(tmp_path):
    report = tmp_path / "took.json"
    launcher = os.path.join(BUILD, "tests", "tools", "run_measured")

    done = subprocess.run([launcher, str(report), "/usr/bin/python3", "-c", BURN], capture_output=True, text=True)
    small = subprocess.run([launcher, str(tmp_path / "small.json"), "/bin/true"])

    took = json.loads(report.read_text())
    assert (done.returncode, took["status"], small.returncode) == (7, 7, 0)
    assert float(done.stdout) <= took["cpu_ns"] / 1e9 <= float(done.stdout) + 0.2
    assert 32 << 10 < took["peak_kib"] < 100 << 10
    assert json.loads((tmp_path / "small.json").read_text())["peak_kib"] < 8 << 10, "the launcher's own memory counts"


@pytest.mark.parametrize("which", [0, -1], ids=["oldest", "newest"])
@pytest.mark.parametrize("workload", tools_measure.WORKLOADS)
def test_each_target_counts_its_work_and_ends_with_its_input(which, workload):
    target = tools_measure.Target(live.load_pythons()[0][which], workload)
    try:
        live.wait_until(lambda: target.look()[1] > 0, "it works")
        before = target.look()
        live.wait_until(lambda: target.look()[1] > before[1] and target.look()[2] > before[2], "it goes on")
        speed = tools_measure.speed_between(before, target.look())

        assert speed["per_second"] > 0 and speed["cpu_per_work"] > 0
        target._target.process.stdin.close()
        assert target._target.process.wait(10) != 0, "it goes on for ever unless its input ends"
    finally:
        target.end()


@pytest.mark.long
@pytest.mark.timing
@pytest.mark.parametrize("name", tools_peers.NAMES + [tools_peers.WORD])
def test_each_tool_can_be_run_and_understood(pystrobe, name):
    python = tools_peers.find_python("3.15")
    if "py-spy" in name and not os.path.exists(tools_peers.pyspy.program()):
        pytest.skip("py-spy is not in the cache; make bench-tools puts it there")
    tool = tools_peers.make(name, python, pystrobe.path, print)
    bench = tools_measure.Bench(BUILD)

    with tools_measure.running(python, "cpu") as target:
        took, speed = bench.run_watched(tool, target, 50, 3)

    assert took["taken"] > 75 and 0 <= took["lost_percent"] < 50
    assert took["cpu_ns"] > 0 and took["peak_kib"] > 1000 and speed["per_second"] > 0


@pytest.mark.long
@pytest.mark.timing
def test_the_comparison_of_tools_prints_a_table_and_json(pystrobe, tmp_path):
    words = ["--python", some_python()["id"], "--tools", "pystrobe", "--workloads", "cpu", "--rates", "100",
             "--rounds", "1", "--short", "1", "--long", "3", "--build", BUILD, "--json", str(tmp_path / "out.json")]

    done = subprocess.run([sys.executable, os.path.join(live.TESTS, "bench", "tools.py")] + words,
                          capture_output=True, text=True, timeout=120)

    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "out.json").read_text())["results"][0]
    ours = result["tools"]["pystrobe"]
    assert 100 < ours["taken"]["median"] < 400
    assert all(key in ours and what in done.stdout for key, what, _ in tools.FIGURES)


@pytest.mark.long
def test_what_each_layer_saves_is_measured(tmp_path):
    out = tmp_path / "layers.json"
    done = subprocess.run([sys.executable, os.path.join(live.TESTS, "bench", "layers.py"), "--build", BUILD, "--rounds", "1",
                           "--round-ms", "20", "--json", str(out)], stdout=subprocess.PIPE, text=True, check=True)
    rows = json.loads(out.read_text())

    assert "threads100_idle, stack" in done.stdout
    assert all(set(row["us"]) == {"none", "prediction", "gil-skip", "sleepers", "memo", "pinning", "bpf", "all"} for row in rows)
    assert all(row["us"]["all"] > 0 for row in rows)


@pytest.mark.long
@pytest.mark.timing
def test_the_cost_to_a_target_is_measured_in_pairs_against_the_bars(pystrobe, tmp_path):
    words = ["--python", some_python()["id"], "--tools", "pystrobe", "--workloads", "cpu", "--rates", "100",
             "--pairs", "2", "--turns", "3", "--build", BUILD, "--json", str(tmp_path / "out.json")]

    done = subprocess.run([sys.executable, os.path.join(live.TESTS, "bench", "tools_cost.py")] + words,
                          capture_output=True, text=True, timeout=120)

    results = {result["tool"]: result for result in json.loads((tmp_path / "out.json").read_text())["results"]}
    assert done.returncode == (1 if results["pystrobe"]["verdict"] == "missed" else 0), done.stderr
    assert results["pystrobe"]["bar"] == 0.995 and "0.995" in done.stdout
    assert all(len(result["pairs"]) == 6 and result["low"] <= result["median"] <= result["high"]
               for result in results.values())


@contextlib.contextmanager
def held_tool(pystrobe, workload, rate):
    """(a program of that kind, a pystrobe that is held beside it)"""
    python = tools_peers.find_python("3.15")
    tool = tools_peers.make("pystrobe", python, pystrobe.path, print)
    with tools_measure.running(python, workload) as target:
        with tools_measure.Held(tools_measure.Bench(BUILD), tool, target.pid, rate) as held:
            yield target, held


@pytest.mark.long
@pytest.mark.timing
def test_a_tool_that_is_held_works_in_its_turns_only(pystrobe):
    with held_tool(pystrobe, "cpu", 100) as (target, held):
        time.sleep(0.1)  # it is about to stop
        before = tools_measure.process_cpu_s(held.pid)
        time.sleep(0.5)
        still = tools_measure.process_cpu_s(held.pid)
        speed = held.turn(target, 0.5)
        after = tools_measure.process_cpu_s(held.pid)

    assert before == still < after
    assert speed["per_second"] > 0


@pytest.mark.long
@pytest.mark.timing
def test_a_held_tool_that_slept_in_its_turns_is_an_error(pystrobe):
    with pytest.raises(RuntimeError, match="took [0-9]+ samples in"):
        with held_tool(pystrobe, "sleeping", 1) as (target, held):
            held.rate = 1000
            held.turn(target, 0.5)

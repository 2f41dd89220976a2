# SPDX-License-Identifier: Apache-2.0
"""What pystrobe may use is a promise: max_cpu and max_memory hold, and it is told what that took."""

import json
import os
import pathlib
import re
import shutil
import threading
import time

import pytest

import live
import profiles
from conftest import MACHINES
from test_metrics import ask, free_port, parse

PYTHON = MACHINES[-1]
MIB = 1 << 20
INI = """
[agent]
rate = %(rate)s
interval = %(interval)s
scan = 200ms
control = %(folder)s/control
%(limits)s
[http]
listen = 127.0.0.1:%(port)d
[target it]
cmdline = %(mark)s
service = it
[exporter out]
type = store
path = %(folder)s/store
"""


def status(pystrobe, folder):
    done = pystrobe.run("status", "--json", "--socket", folder / "control")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def cpu_s_of(pid):
    """What the agent and its samplers have used."""
    return sum(time.clock_gettime(~one << 3 | 2) for one in profiles.family(pid))


@pytest.mark.nightly
def test_cpu_time_holds_from_the_first_minute_and_the_rate_is_told(pystrobe, agent, start, tmp_path):
    mark = "m%d" % time.time_ns()
    pids = [start(PYTHON, "busy.py", "--duty", 0.1, "--shares", "busy_%s:1" % mark).read_json()["pid"] for _ in range(6)]
    watching = agent(INI % {"rate": "500Hz", "interval": "1s", "limits": "max_cpu = 1%\nmax_memory = 64MiB", "mark": mark, "port": free_port(),
                            "folder": tmp_path})
    began = time.monotonic()
    watching.wait_for(pids)
    time.sleep(60 - (time.monotonic() - began))
    used = cpu_s_of(watching.process.pid) / (time.monotonic() - began)
    told = status(pystrobe, tmp_path)["budget"]
    text = pystrobe.run("status", "--socket", tmp_path / "control").stdout
    watching.stop()

    found = profiles.in_store(tmp_path / "store", "it")
    print("budget: %.2f %% of a core used, told %s, period %.1f ms" % (100 * used, told, found[-1]["period"] / 1e6))
    assert used < 0.0135  # the promise, and a quarter of a minute of it to begin with
    assert told["cpu_promised"] == 0.01
    assert re.search(r"budget: +cpu \d+\.\d+% of a core \(promised: 1\.00%\), memory \d+\.\dMiB \(promised: 64\.0MiB\), periods", text)
    assert found[-1]["period"] > 2 * 2_000_000  # ns; it says the rate that there was
    assert max(profile["period"] for profile in found) <= 1_000_000_000
    assert told["targets_shed"] == 0  # all alike, down to once a second first


def sampled(told):
    return {one["pid"] for one in told["targets"] if one["state"] == "sampled"}


@pytest.mark.long
@pytest.mark.timing  # a sanitizer takes memory of its own
def test_memory_holds_by_fewer_samples_then_without_those_found_last(pystrobe, agent, start, tmp_path):
    """Twelve programs whose functions take some 1.5 MiB each to know."""
    port, looks = free_port(), []
    pids = [start(PYTHON, "wide.py", 3000, 100, tmp_path.name).read_json()["pid"] for _ in range(12)]
    watching = agent(INI % {"rate": "100Hz", "interval": "5s", "limits": "max_cpu = 100%\nmax_memory = 16MiB",
                            "mark": "wide[.]py .*" + tmp_path.name, "port": port, "folder": tmp_path})
    watching.wait_for(pids)
    order = [int(found.group(1)) for found in (re.search(r"process (\d+): sampling", line) for line in watching.log) if found]

    def fits():
        looks.append(status(pystrobe, tmp_path))
        return looks[-1]["budget"]["targets_shed"] and looks[-1]["budget"]["memory_used_bytes"] <= 16 * MIB

    live.wait_until(fits, "it fits", 0.5)
    for _ in range(20):  # ... and goes on to
        fits()
        time.sleep(0.5)
    metrics = parse(ask(port, "/metrics")[1])
    watching.stop()

    log = "".join(watching.log)
    slower, fewer = log.index("sampling less often: pystrobe uses"), log.index("would take too much memory (max_memory)")
    after = [look["budget"] for look in looks[-20:]]
    print("memory: %.1f MiB at most, then %.1f; %d of %d sampled, periods %g times as long" % (
        max(look["budget"]["memory_used_bytes"] for look in looks) / MIB, after[-1]["memory_used_bytes"] / MIB,
        len(sampled(looks[-1])), len(pids), after[-1]["period_factor"]))
    assert slower < fewer
    assert max(look["memory_used_bytes"] for look in after) < 17 * MIB
    assert all(look["memory_promised_bytes"] == 16 * MIB and look["period_factor"] == 4 for look in after)
    assert max(profile["period"] for profile in profiles.in_store(tmp_path / "store", "it")) == 40_000_000
    kept = sampled(looks[-1])
    assert 0 < len(kept) < len(pids)
    assert kept == set(order[:len(kept)])  # who was found last went first
    assert metrics["pystrobe_period_factor"] == {"": 4}
    assert metrics["pystrobe_targets_shed_total"][""] >= len(pids) - len(kept)
    assert metrics["pystrobe_budget_memory_bytes"] == {"": 16 * MIB}
    assert 0 < metrics["pystrobe_used_memory_bytes"][""] < 17 * MIB


def test_what_the_page_reads_counts(pystrobe, agent, start, tmp_path):
    target, port = start(PYTHON, "wide.py", 10, 3, tmp_path.name), free_port()
    watching = agent(INI % {"rate": "20Hz", "interval": "1s", "limits": "max_cpu = 1%", "mark": "wide[.]py .*" + tmp_path.name,
                            "port": port, "folder": tmp_path})
    watching.wait_for([target.read_json()["pid"]])
    live.wait_until(lambda: profiles.paths_in_store(tmp_path / "store", "it"), "a profile", 0.1)

    def beside():
        """CPU seconds that it tells, and that neither it nor a sampler took."""
        def text():
            status, body, _ = ask(port, "/metrics")
            return body if status == 200 else None

        told = parse(live.wait_until(text, "metrics", 0.1))
        return told["process_cpu_seconds_total"][""] - cpu_s_of(watching.process.pid)

    before = beside()
    for _ in range(100):
        live.wait_until(lambda: ask(port, "/api/services")[0] == 200, "an answer", 0.1)

    live.wait_until(lambda: beside() > before + 100 * 0.0001, "it is told", 0.2)
    watching.stop()


def memory_of(pid):
    """What nobody else has of it, as pystrobe counts it."""
    try:
        _, resident, shared, *_ = map(int, pathlib.Path("/proc/%d/statm" % pid).read_text().split())
    except OSError:
        return 0  # it has ended
    return (resident - shared) * os.sysconf("SC_PAGESIZE")


def reads_for_the_page(pid):
    try:
        return b"browse" in pathlib.Path("/proc/%d/cmdline" % pid).read_bytes().split(b"\0")
    except OSError:
        return False  # it has ended


def test_the_memory_of_who_reads_the_store_for_the_page_counts(pystrobe, agent, start, tmp_path):
    target, port = start(PYTHON, "wide.py", 2000, 100, tmp_path.name), free_port()
    watching = agent(INI % {"rate": "50Hz", "interval": "2s", "limits": "max_cpu = 100%", "mark": "wide[.]py .*" + tmp_path.name,
                            "port": port, "folder": tmp_path})
    watching.wait_for([target.read_json()["pid"]])
    first = pathlib.Path(live.wait_until(lambda: profiles.paths_in_store(tmp_path / "store", "it")[1:], "profiles", 0.1)[0])
    for number in range(3000):  # so many that they take seconds to read
        shutil.copy(first, first.with_name("%s-%016x.pb.gz" % (first.name[:-len(".pb.gz")].rpartition("-")[0], number)))
    enough = threading.Event()

    def look():
        while not enough.is_set():
            ask(port, "/api/graph?service=it&from=0&to=%d" % (1 << 42))

    def counts():
        told = status(pystrobe, tmp_path)["budget"]["memory_used_bytes"]
        family = profiles.family(watching.process.pid)
        beside = sum(memory_of(pid) for pid in family if reads_for_the_page(pid))
        own = sum(map(memory_of, family)) - beside
        return 0 < beside / 2 < told - own

    looking = threading.Thread(target=look)
    looking.start()
    try:
        live.wait_until(counts, "it is told", 0.2)
    finally:
        enough.set()
        looking.join()
    watching.stop()

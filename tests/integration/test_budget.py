# SPDX-License-Identifier: Apache-2.0
"""What pystrobe may use is a promise: max_cpu and max_memory hold, and it is told what that took."""

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
from doctors import NOBODY, needs_root
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
max_cpu = 100%%
[target it]
cmdline = %(mark)s
service = it
[exporter out]
type = store
path = %(folder)s/store
"""


@pytest.mark.nightly
def test_cpu_time_holds_from_the_second_minute_and_the_rate_is_told(pystrobe, agent, start, tmp_path):
    mark = "m%d" % time.time_ns()
    pids = [start(PYTHON, "busy.py", "--duty", 0.1, "--shares", "busy_%s:1" % mark).read_json()["pid"] for _ in range(6)]
    watching = agent(INI % {"rate": "500Hz", "interval": "1s", "limits": "max_cpu = 1%\nmax_memory = 64MiB", "mark": mark, "port": free_port(),
                            "folder": tmp_path})
    began = time.monotonic()
    watching.wait_for(pids)
    time.sleep(60 - (time.monotonic() - began))
    first = profiles.running_cpu_s(watching.process.pid)
    time.sleep(120 - (time.monotonic() - began))
    used = (profiles.running_cpu_s(watching.process.pid) - first) / (time.monotonic() - began - 60)
    told = pystrobe.status(tmp_path / "control")["budget"]
    text = pystrobe.run("status", "--socket", tmp_path / "control").stdout
    watching.stop()

    found = profiles.in_store(tmp_path / "store", "it")
    print("budget: %.2f %% of a core used, told %s, period %.1f ms" % (100 * used, told, found[-1]["period"] / 1e6))
    assert first / 60 < 0.025  # until a minute's CPU time is spent nobody is slowed; and opening
    assert used < 0.0115
    assert told["cpu_promised"] == 0.01
    assert re.search(r"budget: +cpu \d+\.\d+% of a core \(promised: 1\.00%\), (opening processes \d+\.\d+%, )?memory \d+\.\dMiB \(promised: 64\.0MiB\)\n"
                     r" +6 sampled less often than asked for, as low as [\d.]+Hz, by max_cpu = 1%: would take [\d.]+%\n", text)
    assert found[-1]["period"] > 2 * 2_000_000  # ns; it says the rate that there was
    assert max(profile["period"] for profile in found) <= 1_000_000_000
    assert told["targets_slowed"] == 6 and told["targets_left_out"] == 0


def sampled(told):
    return {one["pid"] for one in told["targets"] if one["state"] == "sampled"}


@pytest.mark.long
@pytest.mark.timing  # a sanitizer takes memory of its own
def test_memory_holds_without_those_that_add_most_to_profiles(pystrobe, agent, start, tmp_path):
    """Twelve programs whose functions take some 1.5 MiB each to know."""
    port, looks = free_port(), []
    pids = [start(PYTHON, "wide.py", 3000, 100, tmp_path.name).read_json()["pid"] for _ in range(12)]
    watching = agent(INI % {"rate": "100Hz", "interval": "5s", "limits": "max_cpu = 100%\nmax_memory = 16MiB",
                            "mark": "wide[.]py .*" + tmp_path.name, "port": port, "folder": tmp_path})
    watching.wait_for(pids)

    def fits():
        looks.append(pystrobe.status(tmp_path / "control"))
        return looks[-1]["budget"]["targets_left_out"] and looks[-1]["budget"]["memory_used_bytes"] <= 16 * MIB

    live.wait_until(fits, "it fits", 0.5)
    for _ in range(20):  # ... and goes on to
        fits()
        time.sleep(0.5)
    metrics = parse(ask(port, "/metrics")[1])
    watching.stop()

    log = "".join(watching.log)
    after = [look["budget"] for look in looks[-20:]]
    print("memory: %.1f MiB at most, then %.1f; %d of %d sampled" % (
        max(look["budget"]["memory_used_bytes"] for look in looks) / MIB, after[-1]["memory_used_bytes"] / MIB,
        len(sampled(looks[-1])), len(pids)))
    assert re.search(r"sampling \d+ of \d+ processes: pystrobe uses .* \(max_memory\)", log)
    assert max(look["memory_used_bytes"] for look in after) < 17 * MIB
    assert all(look["memory_promised_bytes"] == 16 * MIB and look["targets_slowed"] == 0 for look in after)
    assert {profile["period"] for profile in profiles.in_store(tmp_path / "store", "it")} == {10_000_000}
    kept = sampled(looks[-1])
    assert 0 < len(kept) < len(pids)
    assert metrics["pystrobe_targets_slowed"] == {"": 0}
    assert metrics["pystrobe_budget_left_out_total"][""] >= len(pids) - len(kept)
    assert metrics["pystrobe_budget_memory_bytes"] == {"": 16 * MIB}
    assert 0 < metrics["pystrobe_used_memory_bytes"][""] < 17 * MIB


@pytest.mark.long
def test_a_process_that_is_expensive_to_sample_pays_for_that_itself(pystrobe, agent, start, tmp_path):
    """Fresh names of 1,000 bytes in each stack, beside a program that is nothing special."""
    quiet = start(PYTHON, "wide.py", 10, 3, tmp_path.name).read_json()["pid"]
    flood = start(PYTHON, "flood.py", 100, tmp_path.name).read_json()["pid"]
    watching = agent(INI % {"rate": "19Hz", "interval": "10s", "limits": "max_cpu = 1%\nmax_memory = 1GiB", "port": free_port(),
                            "mark": "(wide|flood)[.]py .*" + tmp_path.name, "folder": tmp_path})
    watching.wait_for([quiet, flood])

    def slowed():
        told = pystrobe.status(tmp_path / "control")
        return told["budget"]["targets_slowed"] and {one["pid"]: one for one in told["targets"]}

    targets = live.wait_until(slowed, "it is slowed", 0.5)
    text = pystrobe.run("status", "--socket", tmp_path / "control").stdout
    watching.stop()

    print("flood: %g Hz, quiet: %g Hz" % (targets[flood]["rate_hz"], targets[quiet]["rate_hz"]))
    assert targets[flood]["slowed"] and 1 <= targets[flood]["rate_hz"] < 19
    assert targets[quiet]["rate_hz"] > targets[flood]["rate_hz"]  # 19, unless this machine is very slow
    assert re.search(r" %d .*Hz of 19Hz \(max_cpu\)" % flood, text)


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
        return told["process_cpu_seconds_total"][""] - profiles.running_cpu_s(watching.process.pid)

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
        told = pystrobe.status(tmp_path / "control")["budget"]["memory_used_bytes"]
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


def owners_in(store, service):
    """Whose the profiles are, by the names of their files; None: that is not known."""
    names = [os.path.basename(path) for path in profiles.paths_in_store(store, service)]
    return {re.fullmatch(r"\d{8}T\d{6}\.\d{3}Z-[0-9a-f]{16}(?:-([0-9a-f]{8}))?\.pb\.gz", name).group(1) for name in names}


@needs_root
def test_the_store_knows_whose_each_profile_is(agent, open_folder):
    """By what the kernel says of the process, so that it can keep a share for each owner."""
    wait = "import sys; print('{}', flush=True); sys.stdin.read()"
    running = [live.Target([*words, "/usr/bin/python3", "-c", wait, str(open_folder / name)])
               for words, name in (([], "ours"), (NOBODY, "theirs"))]
    watching = agent(INI % {"rate": "19Hz", "interval": "1s", "limits": "", "port": free_port(), "mark": open_folder / "ours",
                            "folder": open_folder} + "[target other]\ncmdline = %s\nservice = other\n" % (open_folder / "theirs"))
    watching.wait_for([one.pid for one in running])

    def found():
        both = [owners_in(open_folder / "store", name) for name in ("it", "other")]
        return all(both) and both

    ours, theirs = live.wait_until(found, "profiles of both", 0.1)
    watching.stop()
    for one in running:
        one.stop()

    assert len(ours) == len(theirs) == 1 and ours != theirs and None not in ours | theirs

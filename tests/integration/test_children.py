# SPDX-License-Identifier: Apache-2.0
"""Processes that come and go: pools of workers, storms of short lives, deaths in the midst of a read."""

import json
import os
import re
import subprocess
import sys
import time

import pytest

import live
import profiles
import samples
from conftest import MACHINES

PYTHON = MACHINES[-1]
METHODS = ("fork", "spawn", "forkserver")
WORKERS = 2
SECOND_NS = 10**9

INI = """
[agent]
rate = %(rate)s
interval = 1s
scan = 200ms
env_allow = POOL_MARK
max_cpu = 100%%
[target pools]
%(match)s
service = %(service)s
[exporter out]
type = store
path = %(store)s
"""


def has_function(store, service, name):
    paths = profiles.paths_in_store(store, service)
    return paths and any(frame["func"] == name for profile in profiles.read(*paths)
                         for sample in profile["samples"] for frame in sample["stack"])


def test_workers_of_multiprocessing_make_one_profile_each_pool(agent, tmp_path):
    mark, running, workers = "m%d" % time.time_ns(), [], []
    try:
        for method in METHODS:
            running.append(live.Target([PYTHON["exe"], os.path.join(live.TARGETS, "pools.py"), method, str(WORKERS)],
                                       live.clean_environment(POOL_MARK=mark, OTEL_SERVICE_NAME="pool-" + method)))
        for target in running:
            workers.append(target.read_json()["workers"])
        watching = agent(INI % {"rate": "100Hz", "match": "env.POOL_MARK = ^%s$" % mark,
                                "service": "${otel:service.name:-none}", "store": tmp_path})
        watching.wait_for([pid for pids in workers for pid in pids])
        for method in METHODS:
            live.wait_until(lambda: has_function(tmp_path, "pool-" + method, "crunch"), "the work of " + method, 0.2)
        watching.stop()
    finally:
        for target in running:
            target.stop()

    assert {name for name in os.listdir(tmp_path) if name.startswith("pool")} == {"pool-" + method for method in METHODS}
    for method in METHODS:
        paths = profiles.paths_in_store(tmp_path, "pool-" + method)
        starts = [profile["time_ns"] for profile in profiles.read(*paths)]
        assert len(set(starts)) == len(starts)  # one of an interval, whoever started the workers


def chase(count):
    """What tests/tools/chase.c says of so many processes that are killed while they are read."""
    mayflies = subprocess.Popen([sys.executable, os.path.join(live.TARGETS, "mayflies.py"), str(count)],
                                stdout=subprocess.PIPE, env=live.clean_environment())
    with mayflies:
        done = subprocess.run(live.root_words() + [samples.tool("chase")], stdin=mayflies.stdout, stdout=subprocess.PIPE,
                              check=True)
    assert mayflies.returncode == 0
    return json.loads(done.stdout)


@pytest.mark.parametrize("count", [200, pytest.param(10000, marks=pytest.mark.long)])
def test_what_dies_while_it_is_read_is_gone_and_leaves_nothing(count):
    found = chase(count)

    print(found)
    assert found["count"] == count
    assert found["files"] == 0
    assert found["opened"]["ok"] == sum(found["ended"].values())
    for outcomes in (found["opened"], found["ended"]):
        assert not {label for label, times in outcomes.items() if times} - {"ok", "gone", "denied"}, found
    assert found["ended"]["ok"] == 0


def have(pid):
    """Open files and own memory (KiB) of the agent and its samplers."""
    files, memory = 0, 0
    for one in profiles.family(pid):
        with open("/proc/%d/status" % one, encoding="ascii") as file:
            memory += int(re.search(r"^RssAnon:\s+(\d+)", file.read(), re.M).group(1))
        files += len(live.fds_of(one))
    return files, memory


STORM = """
import os, sys
sys.stdin.readline()
for number in range(int(sys.argv[2])):
    pid = os.fork()
    if pid == 0:
        sum(range(number % 50 * 1000))
        os._exit(0)
    if number % 4 == 0:
        os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
    os.waitpid(pid, 0)
print("over", flush=True)
sys.stdin.readline()
"""


def missed_of(pystrobe, socket, pid):
    """How many ticks of a process were missed so far."""
    done = pystrobe.run("status", "--json", "--socket", socket)
    assert done.returncode == 0, done.stderr
    return next(target["missed"] for target in json.loads(done.stdout)["targets"] if target["pid"] == pid)


def waited_ns(pid):
    """How long the agent and its samplers, who could run, had to wait for a CPU so far."""
    waited = 0
    for one in profiles.family(pid):
        with open("/proc/%d/schedstat" % one, encoding="ascii") as file:
            waited += int(file.read().split()[1])
    return waited


@pytest.mark.nightly
def test_a_storm_of_short_lives_costs_a_long_one_nothing(pystrobe, agent, start, tmp_path):
    mark = "m%d" % time.time_ns()
    steady = start(PYTHON, "busy.py", "--duty", 0.2, "--shares", "busy_%s:1" % mark).read_json()["pid"]
    (tmp_path / "storm.py").write_text(STORM)
    storm = subprocess.Popen([PYTHON["exe"], str(tmp_path / "storm.py"), mark, "10000"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    try:
        watching = agent(INI % {"rate": "50Hz\ncontrol = %s/control" % tmp_path, "match": "cmdline = " + mark,
                                "service": "${script}", "store": tmp_path / "store"})
        watching.wait_for([steady, storm.pid])
        time.sleep(7)  # the heap settles, and the samplers have told what they missed
        missed = missed_of(pystrobe, tmp_path / "control", steady)
        files, memory = have(watching.process.pid)
        waited = waited_ns(watching.process.pid)
        began_ns = time.monotonic_ns()
        storm.stdin.write("go\n")
        storm.stdin.flush()
        assert storm.stdout.readline() == "over\n"
        took_ns = time.monotonic_ns() - began_ns
        live.wait_until(lambda: have(watching.process.pid)[0] <= files + 2, "files are closed again", 0.2)
        grown = have(watching.process.pid)[1] - memory
        time.sleep(6)
        missed_at_all = missed_of(pystrobe, tmp_path / "control", steady)
        missed = missed_at_all - missed
        waited = waited_ns(watching.process.pid) - waited
        watching.stop()
    finally:
        storm.kill()
        storm.wait()

    found = profiles.in_store(tmp_path / "store", "busy")
    wall_ns = sum(profile["totals"]["wall"] for profile in found)
    span_ns = max(profile["time_ns"] + profile["duration_ns"] for profile in found) - found[0]["time_ns"]
    print("storm: %.1f s, %d lines, %d KiB more, wall %.4f of what passed, %d ticks missed, %.1f s waited for a CPU" % (
        took_ns / SECOND_NS, len(watching.log), grown, wall_ns / 3 / span_ns, missed, waited / SECOND_NS))
    assert len(watching.log) < 200
    # A tick is missed if it is a period late. That is the storm's doing unless there was no CPU to be had.
    assert missed < 0.01 * 50 * took_ns / SECOND_NS + 50 * waited / SECOND_NS
    assert grown < 4096
    assert 0.98 < wall_ns / 3 / span_ns < 1.01  # three threads
    samples_taken = sum(profile["totals"]["samples"] for profile in found)
    assert samples_taken / 3 + missed_at_all > 0.95 * 50 * span_ns / SECOND_NS  # no tick is lost uncounted

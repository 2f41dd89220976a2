# SPDX-License-Identifier: Apache-2.0
"""Many services and a server that takes its time, or was away: all arrives, and memory stays small."""

import collections
import itertools
import json
import os
import re
import subprocess
import sys
import time

import pytest

import live
import profiles
from doctors import doctor
from receiver import Receiver

SERVICES = 40
INTERVALS = 6
ANSWER_S = (0.4, 0.002)  # what a Pyroscope takes to store a request, and each series of it
MEMORY_MAX = 24 << 20

INI = """
[agent]
rate = 19Hz
interval = 2s
scan = 200ms
max_cpu = 100%%
control = %(control)s
spool = %(spool)s
%(targets)s
[exporter slow]
type = pyroscope
url = %(slow)s
[exporter quick]
type = pyroscope
url = %(quick)s
"""
WORK = """
import sys, time
def work():
    sum(range(2000))
while True:
    work()
    time.sleep(0.02)
"""


def resident(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as file:
        return int(re.search(r"VmRSS:\s+(\d+) kB", file.read()).group(1)) * 1024


def keys(receiver):
    return sorted((push.labels["service_name"], push.labels["__name__"], push.profile.time_nanos) for push in receiver.pushes)


@pytest.fixture
def services(request):
    """The marks of processes that work a little, each a service of its own; a parameter says how many."""
    mark = "load-%d" % os.getpid()
    marks = ["%s-%d-" % (mark, number) for number in range(getattr(request, "param", SERVICES))]
    running = [subprocess.Popen([sys.executable, "-S", "-c", WORK, one], stdin=subprocess.DEVNULL) for one in marks]
    yield marks, [process.pid for process in running]
    for process in running:
        process.kill()
        process.wait()


def targets_of(marks):
    return "".join("[target s%d]\ncmdline = %s\n" % (number, one) for number, one in enumerate(marks))


@pytest.mark.long
@pytest.mark.timing
@pytest.mark.parametrize("spool", ["off", "on"])
def test_a_slow_server_gets_all_of_many_services(agent, services, tmp_path, spool):
    marks, pids = services
    with Receiver(profiles.BUILD) as slow, Receiver(profiles.BUILD) as quick:
        slow.delay(*ANSWER_S)
        run = agent(INI % {"control": tmp_path / "c.sock", "spool": "off" if spool == "off" else tmp_path / "spool",
                           "targets": targets_of(marks), "slow": slow.url, "quick": quick.url})
        live.wait_until(lambda: len({push.labels["service_name"] for push in quick.pushes}) == len(pids), "all are sampled", 0.2)
        quick.wait(2 * SERVICES * INTERVALS)
        memory = resident(run.process.pid)
        status, _ = run.stop()

    assert status == 0
    assert not [line for line in run.log if "could not be delivered" in line or "were dropped" in line], run.log
    assert keys(slow) == keys(quick)
    assert len(slow.requests) < len(keys(slow)) / SERVICES, "a request has all services of an interval"
    assert memory < MEMORY_MAX or live.SANITIZED


OUTAGE_S = int(os.environ.get("OUTAGE_S", "600"))
OUTAGE_INI = """
[agent]
rate = 19Hz
interval = 15s
max_cpu = 100%%
control = %(control)s
spool = %(spool)s
%(targets)s
[exporter far]
type = pyroscope
url = http://127.0.0.1:%(port)d
"""


def times_of(pushes):
    """{series: the times at which its profiles begin, in the order in which they came}"""
    found = collections.defaultdict(list)
    for push in pushes:
        found[push.labels["service_name"], push.labels["__name__"]].append(push.profile.time_nanos)
    return found


def status_of(pystrobe, folder):
    """What the agent says of itself; None: it does not listen yet."""
    done = pystrobe.run("status", "--json", "--socket", folder / "c.sock")
    return json.loads(done.stdout) if done.returncode == 0 else None


def count_sampled(status):
    return sum(target["state"] == "sampled" for target in status["targets"]) if status else 0


@pytest.mark.nightly
@pytest.mark.alone
@pytest.mark.timing
@pytest.mark.parametrize("services", [100], indirect=True)
def test_an_outage_of_ten_minutes_is_made_up_for_in_five(pystrobe, agent, services, tmp_path):
    marks, pids = services
    (port,) = live.free_ports(1)
    run = agent(OUTAGE_INI % {"control": tmp_path / "c.sock", "spool": tmp_path / "spool", "targets": targets_of(marks),
                              "port": port})
    live.wait_until(lambda: count_sampled(status_of(pystrobe, tmp_path)) == len(pids), "all are sampled", 0.5)
    time.sleep(OUTAGE_S)
    waited = status_of(pystrobe, tmp_path)
    with Receiver(profiles.BUILD, port=port) as receiver:
        receiver.delay(0.5, 0.002)
        back_ns = time.time_ns()

        def made_up_for():
            series = times_of(list(receiver.pushes))
            return len(series) == 2 * len(pids) and all(times[-1] > back_ns for times in series.values())

        while not made_up_for():
            assert time.time_ns() < back_ns + 300e9, status_of(pystrobe, tmp_path)
            time.sleep(0.5)
        took_s, memory, after = (time.time_ns() - back_ns) / 1e9, resident(run.process.pid), status_of(pystrobe, tmp_path)
        series, requests = times_of(list(receiver.pushes)), len(receiver.requests)
        assert run.stop()[0] == 0

    print("outage: %d services, %d s; %d profiles of %.1f MiB waited; %.0f s and %d requests until all were there, RSS %.1f MiB"
          % (len(pids), OUTAGE_S, waited["exporters"][0]["queued"], waited["spool"]["bytes"] / 2 ** 20, took_s, requests, memory / 2 ** 20))
    for name, times in series.items():
        assert all(10e9 < b - a < 20e9 for a, b in itertools.pairwise(times)), "%s: a gap, or out of order: %s" % (name, times)
        assert len(times) > OUTAGE_S / 15
    assert not any(after["exporters"][0]["dropped"].values()) and after["exporters"][0]["refused"] == 0
    assert memory < MEMORY_MAX or live.SANITIZED


BEHIND_INI = """
[agent]
interval = 1s
control = %(control)s
spool = %(spool)s
%(targets)s
[exporter far]
type = pyroscope
url = %(url)s
max_in_flight = 1
"""


@pytest.mark.nightly
@pytest.mark.timing
@pytest.mark.parametrize("services", [1], indirect=True)
def test_an_exporter_that_falls_behind_is_told_by_log_status_and_doctor(pystrobe, agent, services, tmp_path):
    with Receiver(profiles.BUILD) as receiver:
        receiver.delay(5)
        run = agent(BEHIND_INI % {"control": tmp_path / "c.sock", "spool": tmp_path / "spool",
                                  "targets": targets_of(services[0]), "url": receiver.url})
        for _ in range(3):  # the oldest has waited for a minute in the second minute, and the machine may be slow
            if "falls behind" not in str(run.log):
                time.sleep(60)
        line = run.wait_for_line("falls behind")
        told = doctor(pystrobe, "-c", run.ini, status=0)["exporter far"]
        status = pystrobe.run("status", "--socket", tmp_path / "c.sock").stdout
        run.process.kill()

    assert told[0] == "note" and told[1].startswith("falls behind: 2.0 profiles/s come")
    assert told[2] in line and told[2] in status and "FALLS BEHIND" in status

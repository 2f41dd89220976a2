# SPDX-License-Identifier: Apache-2.0
"""Many services and a server that takes its time: all arrives, and memory stays small."""

import os
import re
import subprocess
import sys

import pytest

import live
import profiles
from receiver import Receiver

SERVICES = 40
INTERVALS = 6
ANSWER_S = 0.4  # what a Pyroscope takes to store a request
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
def services():
    """The marks of processes that work a little, each a service of its own."""
    mark = "load-%d" % os.getpid()
    marks = ["%s-%d-" % (mark, number) for number in range(SERVICES)]
    running = [subprocess.Popen([sys.executable, "-S", "-c", WORK, one], stdin=subprocess.DEVNULL) for one in marks]
    yield marks, [process.pid for process in running]
    for process in running:
        process.kill()
        process.wait()


@pytest.mark.long
@pytest.mark.timing
@pytest.mark.parametrize("spool", ["off", "on"])
def test_a_slow_server_gets_all_of_many_services(agent, services, tmp_path, spool):
    marks, pids = services
    targets = "".join("[target s%d]\ncmdline = %s\n" % (number, one) for number, one in enumerate(marks))
    with Receiver(profiles.BUILD) as slow, Receiver(profiles.BUILD) as quick:
        slow.delay(ANSWER_S)
        run = agent(INI % {"control": tmp_path / "c.sock", "spool": "off" if spool == "off" else tmp_path / "spool", "targets": targets, "slow": slow.url,
                           "quick": quick.url})
        live.wait_until(lambda: len({push.labels["service_name"] for push in quick.pushes}) == len(pids), "all are sampled", 0.2)
        quick.wait(2 * SERVICES * INTERVALS)
        memory = resident(run.process.pid)
        status, _ = run.stop()

    assert status == 0
    assert not [line for line in run.log if "could not be delivered" in line or "were dropped" in line], run.log
    assert keys(slow) == keys(quick)
    assert len(slow.requests) < len(keys(slow)) / SERVICES, "a request has all services of an interval"
    assert memory < MEMORY_MAX or live.SANITIZED

#!/usr/bin/python3 -ISu
# SPDX-License-Identifier: Apache-2.0
"""The first process of a machine whose clock is set and that is suspended while an agent samples on it.

Writes to the console what it did, when by its clocks, and all profiles that the agent kept. What
they should say, test_clock.py knows.
"""

import base64
import glob
import signal
import subprocess
import time

from machine import DEADLINE_S, PYSTROBE, PYTHON, mount, tell

DAY_S, HOURS_S, ASLEEP_S = 86400, 7200, 20
PHASE_S = 8  # between two events: some intervals
INI = """
[agent]
rate = 50Hz
interval = 2s
scan = 200ms
max_cpu = 10000%
[target app]
cmdline = app[.]py
service = app
[exporter out]
type = store
path = /run/store
"""
APP = """
import time
def works():
    end = time.thread_time() + 0.01
    while time.thread_time() < end: sum(range(100))
while True:
    works()
    time.sleep(0.04)
"""


def clocks():
    return [time.clock_gettime(clock) for clock in (time.CLOCK_REALTIME, time.CLOCK_MONOTONIC, time.CLOCK_BOOTTIME)]


def step(seconds):
    def set_it():
        time.clock_settime(time.CLOCK_REALTIME, time.clock_gettime(time.CLOCK_REALTIME) + seconds)

    return set_it


def suspend():
    with open("/sys/class/rtc/rtc0/wakealarm", "w", encoding="ascii") as file:
        file.write("+%d" % ASLEEP_S)
    with open("/sys/power/state", "w", encoding="ascii") as file:
        file.write("mem")


def profiles():
    return sorted(glob.glob("/run/store/app/*.pb.gz"))


def put(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def wait_for(what):
    end = time.monotonic() + DEADLINE_S
    while not what():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.05)


def main():
    mount(sysfs="/sys")
    put("/run/app.py", APP)
    put("/run/agent.ini", INI)
    with open("/run/log", "w", encoding="ascii") as log:
        app = subprocess.Popen([PYTHON, "-IS", "/run/app.py"])
        agent = subprocess.Popen([PYSTROBE, "agent", "-c", "/run/agent.ini"], stderr=log)
    wait_for(profiles)
    for what, happens in {"begin": lambda: None, "forward": step(DAY_S), "back": step(-HOURS_S), "suspend": suspend}.items():
        before = clocks()
        happens()
        tell(event=what, before=before, after=clocks())
        time.sleep(PHASE_S)
    tell(event="end", before=clocks(), after=clocks())
    agent.send_signal(signal.SIGTERM)
    status = agent.wait(DEADLINE_S)
    app.kill()
    with open("/run/log", encoding="utf-8") as log:
        tell(status=status, log=log.read())
    for path in profiles():
        with open(path, "rb") as file:
            tell(profile=base64.b64encode(file.read()).decode())
    tell(done=True)


if __name__ == "__main__":
    main()

#!/usr/bin/python3 -ISu
# SPDX-License-Identifier: Apache-2.0
"""The first process of a machine with a kernel of its own: lets pystrobe read there what runs, on site.

Writes a JSON object a line to the console: what `doctor` and a recording as root say, then the same without
CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN, then what an agent has counted whose sampler has given them up. What it
should be, test_onsite_kernel.py knows.
"""

import json
import os
import signal
import subprocess
import time

from machine import DEADLINE_S, PYSTROBE, PYTHON, mount, run, tell

WITHOUT = ["/usr/bin/setpriv", "--bounding-set", "-bpf,-perfmon,-sys_admin"]

SPINS = """
import os
print(os.getpid(), flush=True)
def spins_here(depth):
    if depth: return spins_here(depth - 1)
    while True: sum(range(1000))
spins_here(20)
"""
INI = """
[agent]
rate = 200Hz
interval = 1s
max_cpu = 100%
max_memory = 1GiB
control = /run/c.sock
[target app]
cmdline = spins_here
[exporter out]
type = store
path = /run/store
"""


def try_record(case, words, pid):
    path = "/run/%s.pb.gz" % case
    doctor = run(words + [PYSTROBE, "doctor", "--json"])[1]
    status, _, errors = run(words + [PYSTROBE, "record", "--stats=json", "-r", "500", "-d", "3s", "-o", path, "--pid", str(pid)])
    top = run([PYSTROBE, "report", "--json", path])[1]
    tell(case=case, status=status, errors=errors, doctor=json.loads(doctor), top=json.loads(top) if top else None)


def try_agent():
    with open("/run/agent.ini", "w", encoding="ascii") as file:
        file.write(INI)
    agent = subprocess.Popen([PYSTROBE, "agent", "-c", "/run/agent.ini"], stderr=subprocess.DEVNULL)
    end, counts = time.monotonic() + DEADLINE_S, {}
    while time.monotonic() < end and counts.get("unwinder", {}).get("samples", 0) < 500:
        time.sleep(0.5)
        status, out, _ = run([PYSTROBE, "status", "--json", "--socket", "/run/c.sock"])
        counts = json.loads(out)["counts"] if status == 0 else {}
    agent.send_signal(signal.SIGTERM)
    tell(case="agent", status=agent.wait(DEADLINE_S), counts=counts)


def main():
    mount()
    app = subprocess.Popen([PYTHON, "-ISc", SPINS], stdout=subprocess.PIPE)
    pid = int(app.stdout.readline())
    tell(case="kernel", release=os.uname().release, cpus=os.cpu_count())
    try_record("root", [], pid)
    try_record("without", WITHOUT, pid)
    try_agent()
    app.kill()
    tell(case="done")


if __name__ == "__main__":
    main()

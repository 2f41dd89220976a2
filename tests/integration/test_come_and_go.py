# SPDX-License-Identifier: Apache-2.0
"""The short form of `make soak`: counts instead of a slope over an hour."""

import os

import live
import profiles
from conftest import MACHINES

PYTHON = MACHINES[-1]
ROUNDS, PER_ROUND = 4, 3
INI = """
[agent]
rate = 50Hz
interval = 1s
scan = 100ms
spool = off
[target it]
cmdline = busy_%s:
[exporter out]
type = store
path = %s
"""


def files_of(pid):
    """How many files it has open, but for those that tell what it does itself: a sampler opens them when it first needs them."""
    links = []
    for fd in live.fds_of(pid):
        try:
            links.append(os.readlink("/proc/%d/fd/%s" % (pid, fd)))
        except FileNotFoundError:  # it was closed
            continue
    return len([link for link in links if not link.startswith("/proc/%d/task/%d/sched" % (pid, pid))])


def counts_of(agent):
    """(processes, threads, open files) of an agent and its samplers."""
    family = profiles.family(agent.process.pid)
    return len(family), sum(len(live.tids_of(pid)) for pid in family), sum(map(files_of, family))


def test_processes_that_come_and_go_leave_no_file_thread_or_process(agent, start, tmp_path):
    mark = tmp_path.name
    watching = agent(INI % (mark, tmp_path / "store"))

    def sample_some():
        targets = [start(PYTHON, "busy.py", "--duty", 0.1, "--shares", "busy_%s:1" % mark) for _ in range(PER_ROUND)]
        pids = {target.read_json()["pid"] for target in targets}
        watching.wait_for(pids)
        for target in targets:
            target.end()
        live.wait_until(lambda: not pids & {pid for pid, _ in profiles.opened_by(watching.process.pid)}, "all are let go", 0.05)

    sample_some()
    live.wait_until(lambda: list((tmp_path / "store").rglob("*.pb.gz")), "all parts of the agent have worked", 0.05)
    first = counts_of(watching)
    for _ in range(ROUNDS - 1):
        sample_some()
        # A profile may be on its way to the store now, which is a file for a moment.
        live.wait_until(lambda: all(now <= before for now, before in zip(counts_of(watching), first)),
                        "nothing is left of a round: %s" % (first,), 0.05)
    assert watching.stop()[0] == 0

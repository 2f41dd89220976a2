# SPDX-License-Identifier: Apache-2.0
"""File descriptors run out: what is sampled stays so, the others are told of, counted and taken when there is room."""

import random
import re

import pytest

import live
from conftest import MACHINES
from test_budget import sampled
from test_metrics import ask, free_port, parse

COUNT = 40
HARD = ["/bin/sh", "-c", 'ulimit -n 64; exec "$@"', "limited"]
SOFT = ["/bin/sh", "-c", 'ulimit -S -n 64; exec "$@"', "limited"]
# Runs for a moment and sleeps, so that both files of a thread are open.
PROGRAM = """
import json, os, select, sys, time
print(json.dumps({"pid": os.getpid()}), flush=True)
while not select.select([sys.stdin], [], [], 0.05)[0]:
    end = time.monotonic() + 0.002
    while time.monotonic() < end:
        pass
"""
INI = """
[agent]
rate = 50Hz
interval = 1s
scan = 200ms
control = %(folder)s/control
[http]
listen = 127.0.0.1:%(port)d
[target it]
cmdline = %(mark)s
service = it
[exporter out]
type = store
path = %(folder)s/store
"""


@pytest.fixture
def scene(agent, start, tmp_path):
    """scene(words): an agent under these words, and COUNT processes for it: {pid: process}, the agent, its port."""
    def begin(words):
        mark = "m%d" % random.getrandbits(48)
        script = tmp_path / (mark + ".py")
        script.write_text(PROGRAM)
        targets = [start(MACHINES[-1], str(script)) for _ in range(COUNT)]
        own = {target.read_json()["pid"]: target for target in targets}
        port = free_port()
        return own, agent(INI % {"folder": tmp_path, "port": port, "mark": mark}, words), port

    return begin


def test_who_is_left_out_for_lack_of_descriptors_is_told_and_taken_later(pystrobe, scene, tmp_path):
    own, watching, port = scene(HARD)
    told = watching.wait_for_line("no file descriptors left")
    assert "warning" in told and re.search(r"\d+ of 64 are in use", told) and "LimitNOFILE" in told and "ulimit -n" in told

    def settled():
        found = pystrobe.status(tmp_path / "control")
        return found if found["left_out"]["nomem"] + len(sampled(found)) == COUNT and len(sampled(found)) > 8 else None

    first = live.wait_until(settled, "all are sampled or counted", 0.2)
    attached = parse(ask(port, "/metrics")[1])["pystrobe_targets_attached_total"][""]
    before = sampled(first)
    metrics = parse(ask(port, "/metrics")[1])
    assert metrics["pystrobe_targets_left_out"]['reason="nomem"'] == COUNT - len(before)
    said = "left out: %d (out of memory or file descriptors)" % (COUNT - len(before))
    live.wait_until(lambda: said in pystrobe.run("status", "--socket", tmp_path / "control").stdout,
                    "it is told; one that is just tried again does not count", 0.2)

    for pid in [pid for pid in own if pid in before] + [pid for pid in own if pid not in before][:COUNT - 8 - len(before)]:
        own.pop(pid).stop()
    live.wait_until(lambda: sampled(pystrobe.status(tmp_path / "control")) == set(own), "the others are taken", 0.2)
    live.wait_until(lambda: pystrobe.status(tmp_path / "control")["left_out"]["nomem"] == 0, "none is left out", 0.2)
    watching.stop()
    print("%d of %d processes with 64 descriptors; %d were begun until then" % (len(before), COUNT, attached))
    assert attached <= len(before) + 2  # none was given up for another
    assert sum("warning" in line and "no file descriptors" in line for line in watching.log) == 1


def test_the_agent_and_its_samplers_raise_their_soft_limit(pystrobe, scene, tmp_path):
    own, watching, _ = scene(SOFT)
    watching.wait_for_line("sampling Python")
    live.wait_until(lambda: sampled(pystrobe.status(tmp_path / "control")) == set(own), "all are sampled", 0.2)
    assert not any(pystrobe.status(tmp_path / "control")["left_out"].values())
    with open("/proc/%d/limits" % watching.process.pid, encoding="ascii") as file:
        soft, hard = next(line for line in file if line.startswith("Max open files")).split()[3:5]
    assert soft == hard

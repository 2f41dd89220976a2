# SPDX-License-Identifier: Apache-2.0
"""The control socket end to end: an agent that runs, and the commands that ask it."""

import json
import os
import socket
import subprocess

import live

PYTHON = [python for python in live.load_pythons()[0] if not python["root"]][-1]
INI = """
[agent]
rate = 50Hz
interval = 1s
scan = 200ms
control = %s/control.sock
[target desk]
cmdline = %s/marked
service = shop
[exporter out]
type = store
path = %s/store
"""


def status(pystrobe, tmp_path):
    done = pystrobe.run("status", "--json", "--socket", tmp_path / "control.sock")
    return json.loads(done.stdout) if done.returncode == 0 else {}


def start_marked(start, tmp_path):
    """A target that no other agent on the machine matches."""
    script = tmp_path / "marked.py"
    script.write_text("import time\nprint('{}', flush=True)\nwhile True:\n    sum(range(10000)); time.sleep(0.01)\n")
    target = start(PYTHON, str(script))
    target.read_json()
    return target.pid


def ini_of(tmp_path):
    return INI % (tmp_path, tmp_path, tmp_path)


def test_status_tells_what_is_sampled_and_burst_raises_its_rate(pystrobe, agent, start, tmp_path):
    pid = start_marked(start, tmp_path)
    run = agent(ini_of(tmp_path))
    run.wait_for([pid])
    live.wait_until(lambda: status(pystrobe, tmp_path).get("targets"), "a target in the status", 0.2)
    told = live.wait_until(lambda: [s for s in [status(pystrobe, tmp_path)] if s["profiles"] > 0], "a profile", 0.2)[0]

    assert [(t["pid"], t["service"], t["rate_hz"]) for t in told["targets"]] == [(pid, "shop", 50)]
    assert told["targets"][0]["python"].startswith(PYTHON["version"][:4].rstrip("."))
    assert told["exporters"][0]["name"] == "out" and told["exporters"][0]["type"] == "store"
    assert told["counts"]["samples"] > 0 and told["config"]["last_reload"] is None
    own = live.wait_until(lambda: [t for t in status(pystrobe, tmp_path)["targets"] if t["samples"] > 0], "its own", 0.2)[0]
    assert {"moved", "chain", "code", "unmapped"} < set(own["torn"]) and "raced" in own["failed"] and "missed" in own

    done = pystrobe.run("burst", "-r", "200", "-d", "60s", "--socket", tmp_path / "control.sock", "desk")
    assert (done.returncode, done.stdout) == (0, "1 process\n")
    live.wait_until(lambda: status(pystrobe, tmp_path)["targets"][0]["burst"], "the burst", 0.2)
    other = pystrobe.run("burst", "--socket", tmp_path / "control.sock", "shopp")
    assert (other.returncode, other.stdout) == (
        0, "0 processes are of a service or section of that name now; those that come are sampled so, too. Sampled now: shop\n")
    none = pystrobe.run("burst", "--socket", tmp_path / "control.sock", os.getpid())
    assert (none.returncode, none.stdout, none.stderr) == (
        1, "", "pystrobe: that process is not sampled now; pystrobe status lists those that are\n")

    text = pystrobe.run("status", "--socket", tmp_path / "control.sock").stdout
    assert str(pid) in text and "shop" in text and "200Hz (burst)" in text
    assert run.stop()[0] == 0
    assert not (tmp_path / "control.sock").exists()


def test_a_relative_socket_is_found(pystrobe, agent, tmp_path):
    run = agent(ini_of(tmp_path))
    live.wait_until(lambda: status(pystrobe, tmp_path), "the socket", 0.2)

    with pystrobe.start("status", "--socket", "control.sock", cwd=tmp_path, stdout=subprocess.DEVNULL) as asked:
        assert asked.wait(live.DEADLINE_S) == 0
    run.stop()


def test_clients_that_hang_hold_up_neither_the_others_nor_the_end(pystrobe, agent, tmp_path):
    run = agent(ini_of(tmp_path))
    live.wait_until(lambda: status(pystrobe, tmp_path), "the socket", 0.2)
    hanging = [socket.socket(socket.AF_UNIX) for _ in range(8)]
    for client in hanging:
        client.connect(str(tmp_path / "control.sock"))
        client.send(b"stat")

    assert status(pystrobe, tmp_path)["pid"] == run.process.pid
    assert run.stop()[0] == 0
    for client in hanging:
        client.close()


def test_a_second_agent_does_not_take_the_socket_of_the_first(pystrobe, agent, tmp_path):
    run = agent(ini_of(tmp_path))
    live.wait_until(lambda: status(pystrobe, tmp_path), "the socket", 0.2)

    second = pystrobe.run("agent", "-c", tmp_path / "agent0.ini")

    assert second.returncode == 1 and "belongs to another agent" in second.stderr
    assert status(pystrobe, tmp_path)["pid"] == run.process.pid
    run.stop()


def test_without_an_agent_the_commands_say_so(pystrobe, tmp_path):
    for words in (["status"], ["reload"], ["burst", "web"]):
        done = pystrobe.run(*words, "--socket", tmp_path / "none.sock")
        assert done.returncode == 69 and "no agent listens" in done.stderr

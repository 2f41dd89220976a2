# SPDX-License-Identifier: Apache-2.0
"""Reading the settings anew: what changed takes effect, what did not goes on, mistakes change nothing."""

import json
import os
import re
import signal
import socket
import time
import urllib.error
import urllib.request

import pytest

import live
from faults import Faults

PYTHON = [python for python in live.load_pythons()[0] if not python["root"]][-1]
PROGRAM = "import time\nprint('{}', flush=True)\nwhile True:\n    sum(range(10000)); time.sleep(0.01)\n"


def write_ini(tmp_path, rate="50Hz", second="", store="store", path="agent0.ini"):
    """Without the limit of CPU time, which sanitizers and many reloads exceed: it would lower the rates."""
    text = ("[agent]\nmax_cpu = 100%%\nrate = 50Hz\ninterval = 1s\nscan = 200ms\ncontrol = %s/c.sock\n"
            "[target one]\ncmdline = %s/one\nrate = %s\n%s"
            "[exporter out]\ntype = store\npath = %s/%s\n" % (tmp_path, tmp_path, rate, second, tmp_path, store))
    (tmp_path / path).write_text(text)
    return text


def status(pystrobe, tmp_path):
    done = pystrobe.run("status", "--json", "--socket", tmp_path / "c.sock")
    return json.loads(done.stdout) if done.returncode == 0 else {"targets": []}


def rates(told):
    return {target["pid"]: (target["service"], target["rate_hz"]) for target in told["targets"]
            if target["state"] == "sampled"}


def fds_of(pid):
    return len(os.listdir("/proc/%d/fd" % pid))


def begin(start, tmp_path, name):
    script = tmp_path / (name + ".py")
    script.write_text(PROGRAM)
    target = start(PYTHON, str(script))
    target.read_json()
    return target.pid


def test_a_good_file_takes_effect_and_unchanged_targets_are_sampled_on(pystrobe, agent, start, tmp_path):
    one, two = begin(start, tmp_path, "one"), begin(start, tmp_path, "two")
    run = agent(write_ini(tmp_path))
    run.wait_for([one])
    second = "[target two]\ncmdline = %s/two\nservice = zwei\nrate = 20Hz\n" % tmp_path

    write_ini(tmp_path, second=second, store="other")
    done = pystrobe.run("reload", "--socket", tmp_path / "c.sock")
    assert (done.returncode, done.stderr) == (0, "")
    live.wait_until(lambda: rates(status(pystrobe, tmp_path)) == {one: ("one", 50), two: ("zwei", 20)}, "both", 0.1)
    assert sum("process %d: sampling" % one in line for line in run.log) == 1, "it was let go"
    live.wait_until(lambda: list((tmp_path / "other").rglob("*.pb.gz")), "a profile in the other store", 0.1)

    write_ini(tmp_path, rate="30Hz", store="other")
    run.process.send_signal(signal.SIGHUP)
    live.wait_until(lambda: rates(status(pystrobe, tmp_path)) == {one: ("one", 30)}, "the new rate", 0.1)
    told = status(pystrobe, tmp_path)["config"]
    assert told["reloads"] == 2 and told["last_reload"]["good"]
    assert run.stop()[0] == 0


def test_limits_and_places_of_the_agent_itself_change_too(pystrobe, agent, start, tmp_path):
    one, text = begin(start, tmp_path, "one"), write_ini(tmp_path)
    run = agent(text)
    run.wait_for([one])
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]

    text = text.replace("max_cpu = 100%\n", "max_cpu = 7%\nmax_memory = 99MiB\nmax_services = 3\n")
    (tmp_path / "agent0.ini").write_text(text.replace("/c.sock", "/d.sock") + "[http]\nlisten = 127.0.0.1:%d\n" % port)
    done = pystrobe.run("reload", "--socket", tmp_path / "c.sock")
    assert (done.returncode, done.stderr) == (0, "")  # whoever asked at the old place is answered

    def budget():
        told = pystrobe.run("status", "--json", "--socket", tmp_path / "d.sock").stdout
        return json.loads(told)["budget"] if told else None

    live.wait_until(lambda: (budget() or {}).get("cpu_promised") == 0.07, "a status at the new place", 0.1)
    assert budget()["memory_promised_bytes"] == 99 << 20
    with urllib.request.urlopen("http://127.0.0.1:%d/healthz" % port, timeout=live.DEADLINE_S) as answer:
        assert answer.status == 200
    live.wait_until(lambda: not (tmp_path / "c.sock").exists(), "the old socket is gone", 0.1)

    (tmp_path / "agent0.ini").write_text(text.replace("/c.sock", "/d.sock") + "[http]\nlisten = 192.0.2.1:1\n")
    done = pystrobe.run("reload", "--socket", tmp_path / "d.sock")
    assert done.returncode == 1 and "192.0.2.1" in done.stderr  # no address of this machine: all stays as it was
    urllib.request.urlopen("http://127.0.0.1:%d/healthz" % port, timeout=live.DEADLINE_S).close()

    (tmp_path / "agent0.ini").write_text(text.replace("/c.sock", "/d.sock"))
    assert pystrobe.run("reload", "--socket", tmp_path / "d.sock").returncode == 0
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen("http://127.0.0.1:%d/healthz" % port, timeout=live.DEADLINE_S)
    assert run.stop()[0] == 0


def test_a_bad_file_changes_nothing_and_is_told(pystrobe, agent, start, tmp_path):
    one = begin(start, tmp_path, "one")
    run = agent(write_ini(tmp_path))
    run.wait_for([one])

    write_ini(tmp_path, rate="0Hz", second="nonsense = 1\n")
    done = pystrobe.run("reload", "--socket", tmp_path / "c.sock")

    assert done.returncode == 1 and "agent0.ini:9" in done.stderr
    told = status(pystrobe, tmp_path)
    assert rates(told) == {one: ("one", 50)}
    assert not told["config"]["last_reload"]["good"] and "agent0.ini:9" in told["config"]["last_reload"]["error"]
    assert told["config"]["failed_reloads"] == 1
    assert "nonsense" in run.wait_for_line("agent0.ini:10")  # all mistakes are in the log
    assert "FAILED" in pystrobe.run("status", "--socket", tmp_path / "c.sock").stdout
    assert run.stop()[0] == 0


def test_a_file_that_is_just_being_written_changes_nothing(pystrobe, agent, start, tmp_path):
    one = begin(start, tmp_path, "one")
    run = agent(write_ini(tmp_path))
    run.wait_for([one])
    live.wait_until(lambda: rates(status(pystrobe, tmp_path)) == {one: ("one", 50)}, "status has it")

    (tmp_path / "agent0.ini").write_text("")
    done = pystrobe.run("reload", "--socket", tmp_path / "c.sock")

    assert done.returncode == 1 and "agent0.ini: is empty" in done.stderr
    assert rates(status(pystrobe, tmp_path)) == {one: ("one", 50)}
    write_ini(tmp_path, rate="30Hz")
    assert pystrobe.run("reload", "--socket", tmp_path / "c.sock").returncode == 0
    assert run.stop()[0] == 0


CROWD = """
import threading, time
def work():
    while True:
        sum(range(1000)); time.sleep(0.02)
for number in range(40):
    threading.Thread(target=work, daemon=True, name="worker-%d" % number).start()
print('{}', flush=True)
time.sleep(1000)
"""
# Places, what says how the log reads, and promises that could end the sampling.
KEPT = ("control", "spool", "log_format", "type", "path", "max_cpu", "max_memory")


def settings_to_try(sample):
    """(section, key, values) of each key whose least and greatest value, or words, the sample file names."""
    section, words, found = None, "", []
    for line in sample.splitlines():
        if line.lstrip(";").startswith("["):
            section = line.lstrip(";").strip("[]")
        match = re.match(r"# Allowed: (.*)[.]$", line)
        words = match.group(1) if match else words
        match = re.match(r";(\w+) =", line)
        if match and match.group(1) not in KEPT and section in ("agent", "target web", "exporter store"):
            span = re.fullmatch(r"(\d\S*) to (\d\S*)", words)
            values = span.groups() if span else re.fullmatch(r"\w+(, \w+)+", words) and words.split(", ")
            found += [(section.split()[0], match.group(1), values)] if values else []
    return found


def test_each_setting_may_change_up_and_down_while_threads_are_told_apart(pystrobe, agent, start, tmp_path):
    script = tmp_path / "one.py"
    script.write_text(CROWD)
    target = start(PYTHON, str(script))
    target.read_json()
    tried = settings_to_try(pystrobe.run("config", "--sample").stdout)
    assert {("agent", "max_split"), ("agent", "rate"), ("target", "rate"), ("target", "split"), ("exporter", "max_size")} <= {
        setting[:2] for setting in tried}
    fixed = {"agent": {"rate": "100Hz", "interval": "1s", "scan": "200ms", "control": "%s/c.sock" % tmp_path, "max_cpu": "100%",
                       "max_memory": "1GiB", "log_level": "info"},
             "target": {"cmdline": "%s/one" % tmp_path, "split": "thread"},
             "exporter": {"type": "store", "path": "%s/store" % tmp_path}}

    def ini(section=None, key=None, value=None):
        keys = {name: dict(have) for name, have in fixed.items()}
        if section:
            keys[section][key] = value
        names = {"agent": "agent", "target": "target one", "exporter": "exporter out"}
        return "".join("[%s]\n%s" % (names[name], "".join("%s = %s\n" % item for item in have.items()))
                       for name, have in keys.items())

    run = agent(ini())
    run.wait_for([target.pid])
    for section, key, values in tried:
        for value in (*values, values[0]):
            (tmp_path / "agent0.ini").write_text(ini(section, key, value))
            done = pystrobe.run("reload", "--socket", tmp_path / "c.sock")
            assert done.returncode == 0 or "%s: " % key in done.stderr, (section, key, value, done.stderr)
            time.sleep(0.2)  # some samples, and each fifth an interval's end
    (tmp_path / "agent0.ini").write_text(ini())
    reload_now(pystrobe, tmp_path)
    live.wait_until(lambda: rates(status(pystrobe, tmp_path)) == {target.pid: ("one", 100)}, "it is sampled on", 0.1)
    assert run.stop()[0] == 0
    assert not [line for line in run.log if "a sampler has ended" in line]


@pytest.mark.long
def test_a_thousand_hangups_end_with_the_last_good_file(pystrobe, agent, start, tmp_path):
    def write(rate, second=""):
        text = write_ini(tmp_path, rate="%dHz" % rate, second=second)
        (tmp_path / "written.ini").write_text(text)
        os.replace(tmp_path / "written.ini", tmp_path / "agent0.ini")
        return text

    one = begin(start, tmp_path, "one")
    run = agent(write(50))
    run.wait_for([one])
    before = None
    for number in range(1000):
        write(20 + number % 70, "nonsense\n" if number % 2 else "")
        run.process.send_signal(signal.SIGHUP)
        time.sleep(0.005)
        if number == 100:
            before = fds_of(run.process.pid)
    write(99)
    run.process.send_signal(signal.SIGHUP)
    live.wait_until(lambda: rates(status(pystrobe, tmp_path)) == {one: ("one", 99)}, "the last rate", 0.1)
    live.wait_until(lambda: fds_of(run.process.pid) <= before + 2, "descriptors back where they were", 0.1)
    assert run.stop()[0] == 0


def exporters(told):
    return {one["name"]: one for one in told["exporters"]}


def write_exporters(tmp_path, *sections, spool="off"):
    """The settings with these exporters and no other; with an interval that makes many profiles."""
    text = write_ini(tmp_path).partition("[exporter out]")[0].replace("interval = 1s", "interval = 1s\nspool = %s" % spool)
    (tmp_path / "agent0.ini").write_text(text + "".join(sections))
    return (tmp_path / "agent0.ini").read_text()


def reload_now(pystrobe, tmp_path):
    done = pystrobe.run("reload", "--socket", tmp_path / "c.sock")
    assert (done.returncode, done.stderr) == (0, "")


def waits(pystrobe, tmp_path, name, count):
    one = exporters(status(pystrobe, tmp_path)).get(name, {"queued": 0})
    return one if one["queued"] >= count else None


def test_exporters_whose_sections_are_unchanged_keep_their_queues_and_connect_again(pystrobe, agent, start, tmp_path):
    one = begin(start, tmp_path, "one")
    with Faults() as server, Faults() as down:
        good = "[exporter good]\ntype = otlp\nurl = %s\n" % server.url("good")
        failing = "[exporter failing]\ntype = otlp\nurl = %s\n" % down.url("status/503")
        run = agent(write_exporters(tmp_path, good, failing))
        run.wait_for([one])
        live.wait_until(lambda: server.count > 1, "profiles arrive", 0.1)
        before = live.wait_until(lambda: waits(pystrobe, tmp_path, "failing", 2), "some wait", 0.1)
        connections = server.connections

        write_exporters(tmp_path, good, failing, "[labels]\nteam = a\n")
        reload_now(pystrobe, tmp_path)
        after = exporters(status(pystrobe, tmp_path))
        assert list(after) == ["good", "failing"]
        assert after["failing"]["queued"] >= before["queued"] and after["failing"]["retried"] >= before["retried"]
        count = server.count
        live.wait_until(lambda: server.count > count + 1, "profiles arrive still", 0.1)
        assert server.connections == connections + 1, "one new connection, which is kept"
    assert run.stop()[0] == 0


def test_what_waits_in_the_spool_goes_where_the_new_settings_say(pystrobe, agent, start, tmp_path):
    one = begin(start, tmp_path, "one")
    with Faults() as server, Faults() as down:
        failing = "[exporter there]\ntype = otlp\nurl = %s\n" % down.url("status/503")
        run = agent(write_exporters(tmp_path, failing, spool=tmp_path / "spool"))
        run.wait_for([one])
        waiting = live.wait_until(lambda: waits(pystrobe, tmp_path, "there", 3), "some wait", 0.1)

        write_exporters(tmp_path, failing.replace(down.url("status/503"), server.url("good")), spool=tmp_path / "spool")
        reload_now(pystrobe, tmp_path)
        live.wait_until(lambda: server.count >= waiting["queued"], "what waited arrives where it is to go now", 0.1)
    assert run.stop()[0] == 0

# SPDX-License-Identifier: Apache-2.0
"""The spool: `pystrobe spool` on its files, and agents that are killed."""

import gzip
import json
import os
import re
import time

import pytest

import entries
import kills
import live
import servers
from receiver import Receiver

BUILD = os.path.abspath(os.environ.get("PYSTROBE_BUILD", os.path.join(live.TREE, "build")))


def test_profiles_are_listed_written_and_removed(pystrobe, tmp_path):
    spool = tmp_path / "spool"
    entries.put(spool, 1, "shop", b"one")
    entries.put(spool, 0x2a, "till\n\u202e", b"two", exporter="other", count=2)
    got = pystrobe.run("spool", "-d", spool, "ls")
    assert got.returncode == 0, got.stderr
    assert [line.split()[0] for line in got.stdout.splitlines()] == ["ID", "1", "2a.1", "2a.2"]
    assert r"till\x0a\u202e other" in got.stdout
    rows = [json.loads(line) for line in pystrobe.run("spool", "-d", spool, "ls", "--json").stdout.splitlines()]
    assert [row["service"] for row in rows] == ["shop", "till\n\u202e", "till\n\u202e"]
    assert rows[1]["owed_by"] == ["other"] and rows[1]["bytes"] == 3 and rows[2]["id"] == "2a.2"
    out = tmp_path / "out"
    assert pystrobe.run("spool", "-d", spool, "cat", "-o", out, "2a.2").returncode == 0
    assert out.read_bytes() == b"two"
    assert pystrobe.run("spool", "-d", spool, "cat", "1").stdout == "one"
    some = pystrobe.run("spool", "-d", spool, "cat", "2a")
    assert some.returncode == 1 and "2a has 2 profiles: name one of 2a.1 to 2a.2" in some.stderr
    assert pystrobe.run("spool", "-d", spool, "rm", "-y", "7").returncode == 1
    assert pystrobe.run("spool", "-d", spool, "rm", "-y", "2a.1").returncode == 64
    assert pystrobe.run("spool", "-d", spool, "rm", "-y", "1").returncode == 0
    assert pystrobe.run("spool", "-d", spool, "rm", "-y", "--all").returncode == 0
    assert not list(spool.glob("*.batch"))
    assert pystrobe.run("spool", "-d", spool, "rm", "-y").returncode == 64
    assert pystrobe.run("spool", "-d", tmp_path / "none", "ls").returncode == 1
    assert "Example:" in pystrobe.run("spool", "--help").stdout


def test_profiles_are_pushed_by_hand(pystrobe, tmp_path):
    spool, ini = tmp_path / "spool", tmp_path / "pystrobe.ini"
    for number in range(1, 4):
        entries.put(spool, number, "shop", gzip.compress(b"\x32\x00"))
    entries.put(spool, 4, "shop", b"", exporter="other")
    with Receiver(BUILD) as receiver:
        write_ini(ini, tmp_path, receiver.url, "none")
        assert pystrobe.run("spool", "-c", ini, "push", "server", "2").returncode == 0
        assert receiver.wait(1)[0].labels["service_name"] == "shop"
        receiver.answer(503)
        assert pystrobe.run("spool", "-c", ini, "push", "server").returncode == 1  # one of two
        assert pystrobe.run("spool", "-c", ini, "push", "nobody").returncode == 78
    assert sorted(path.name for path in spool.glob("*.batch")) == ["0000000000000001-server.batch",
                                                                    "0000000000000004-other.batch"]


def write_ini(path, tmp_path, url, marker):
    path.write_text("[agent]\nrate = 50Hz\ninterval = 1s\nspool = %s\nspool_min_free = 0B\n"
                    "[target busy]\ncmdline = %s\n[exporter server]\ntype = pyroscope\nurl = %s\n"
                    % (tmp_path / "spool", marker, url))


OUTAGE_S = int(os.environ.get("PYSTROBE_OUTAGE_S", "300"))
GROWTH_MAX = 2 << 20


def resident(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as file:
        return int(re.search(r"VmRSS:\s+(\d+) kB", file.read()).group(1)) * 1024


@pytest.mark.nightly
def test_an_outage_of_minutes_loses_nothing_and_takes_no_memory(pystrobe, tmp_path):
    spool, ini = tmp_path / "spool", tmp_path / "pystrobe.ini"
    marker = "spool-target-%d" % os.getpid()
    target = live.Target(["/usr/bin/python3", "-c", kills.TARGET, marker])
    port, = servers.free_ports(1)
    write_ini(ini, tmp_path, "http://127.0.0.1:%d" % port, marker)
    one = pystrobe.start("agent", "-c", ini)
    try:
        live.wait_until(lambda: len(entries.read_all(spool)) >= 10, "the first profiles are on disk", 0.2)
        before = resident(one.pid)
        time.sleep(OUTAGE_S)
        growth = resident(one.pid) - before
        waiting = [entry.start_ns for entry in entries.read_all(spool) if entry.kind == "cpu"]
        with Receiver(BUILD, port=port) as receiver:
            live.wait_until(lambda: waiting[-1] in [push.profile.time_nanos for push in receiver.pushes], "all came", 1)
            came = [push.profile.time_nanos for push in receiver.pushes if push.labels["__name__"] == "process_cpu"]
    finally:
        for process in (one, target.process):
            process.kill()
            process.wait()
    print("%d profiles of each kind waited; %d bytes more" % (len(waiting), growth))
    assert len(waiting) > OUTAGE_S * 0.9
    assert came[:len(waiting)] == waiting  # all, in order, none twice
    assert growth < GROWTH_MAX


def test_what_was_on_disk_arrives_after_a_kill_at_any_moment(pystrobe, tmp_path):
    """`make spool` has many more of them, and looks at what is lost with the running interval."""
    all_of_it = kills.Kills(BUILD, pystrobe, tmp_path, lanes=4, seed=os.getpid())
    with all_of_it.running():
        all_of_it.kill(50)
        all_of_it.drain()

    assert all_of_it.receipts
    assert all_of_it.lost() == []
    assert all_of_it.bad() == []
    assert all_of_it.twice_without_a_kill() == []
    assert all_of_it.receiver.errors == []

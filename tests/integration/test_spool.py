# SPDX-License-Identifier: Apache-2.0
"""The spool: `pystrobe spool` on its files, and an agent that is killed while no server answers."""

import gzip
import json
import os
import signal
import struct
import zlib

import live
from receiver import Receiver

BUILD = os.path.abspath(os.environ.get("PYSTROBE_BUILD", os.path.join(live.TREE, "build")))


def text(value):
    raw = value.encode() + b"\0"
    return struct.pack("<I", len(raw)) + raw


def put_entry(folder, order, service, payload, owers=("server",)):
    """Writes an entry as the manual documents it."""
    folder.mkdir(mode=0o700, exist_ok=True)
    strings = b"".join(text(ower) for ower in owers) + text(service) + text("cpu") + text("env") + text("prod")
    head = struct.pack("<8sIIQIIqqqIHH", b"\x89PSPOOL\n", 1, 64 + len(strings), len(payload), zlib.crc32(payload), 0,
                       10**18, 10**18 + 1, 10**18 + 2, 1, len(owers), 1) + strings
    head = head[:28] + struct.pack("<I", zlib.crc32(head)) + head[32:]
    (folder / ("%016x-%04x.profile" % (order, (1 << len(owers)) - 1))).write_bytes(head + payload)


def test_profiles_are_listed_written_and_removed(pystrobe, tmp_path):
    spool = tmp_path / "spool"
    put_entry(spool, 1, "shop", b"one")
    put_entry(spool, 0x2a, "till\n", b"two", owers=("server", "other"))
    got = pystrobe.run("spool", "-d", spool, "ls")
    assert got.returncode == 0, got.stderr
    assert [line.split()[0] for line in got.stdout.splitlines()] == ["ID", "1", "2a"]
    assert "till? server other" in got.stdout
    rows = [json.loads(line) for line in pystrobe.run("spool", "-d", spool, "ls", "--json").stdout.splitlines()]
    assert [row["service"] for row in rows] == ["shop", "till\n"]
    assert rows[1]["owed_by"] == ["server", "other"] and rows[1]["bytes"] == 3
    out = tmp_path / "out"
    assert pystrobe.run("spool", "-d", spool, "cat", "-o", out, "2a").returncode == 0
    assert out.read_bytes() == b"two"
    assert pystrobe.run("spool", "-d", spool, "rm", "-y", "7").returncode == 1
    assert pystrobe.run("spool", "-d", spool, "rm", "-y", "1").returncode == 0
    assert pystrobe.run("spool", "-d", spool, "rm", "-y", "--all").returncode == 0
    assert not list(spool.glob("*.profile"))
    assert pystrobe.run("spool", "-d", spool, "rm", "-y").returncode == 64
    assert pystrobe.run("spool", "-d", tmp_path / "none", "ls").returncode == 1
    assert "Example:" in pystrobe.run("spool", "--help").stdout


def test_profiles_are_pushed_by_hand(pystrobe, tmp_path):
    spool, ini = tmp_path / "spool", tmp_path / "pystrobe.ini"
    for order in range(1, 4):
        put_entry(spool, order, "shop", gzip.compress(b"\x32\x00"), owers=("server", "other"))
    with Receiver(BUILD) as receiver:
        write_ini(ini, tmp_path, receiver.url, "none")
        assert pystrobe.run("spool", "-c", ini, "push", "server", "2").returncode == 0
        assert receiver.wait(1)[0].labels["service_name"] == "shop"
        receiver.answer(503)
        assert pystrobe.run("spool", "-c", ini, "push", "server").returncode == 1  # one of two
        assert pystrobe.run("spool", "-c", ini, "push", "nobody").returncode == 78
    assert sorted(path.name[-12:-8] for path in spool.glob("*.profile")) == ["0002", "0002", "0003"]


def write_ini(path, tmp_path, url, marker):
    path.write_text("[agent]\nrate = 50Hz\ninterval = 1s\nspool = %s\nspool_min_free = 0B\n"
                    "[target busy]\ncmdline = %s\n[exporter server]\ntype = pyroscope\nurl = %s\n"
                    % (tmp_path / "spool", marker, url))


def test_nothing_is_lost_when_the_agent_is_killed_without_a_server(pystrobe, tmp_path):
    spool, ini = tmp_path / "spool", tmp_path / "pystrobe.ini"
    marker = "spool-target-%d" % os.getpid()
    target = live.Target(["/usr/bin/python3", "-c", "while True: pass", marker])
    entries = lambda: {path.name.split("-")[0] for path in spool.glob("*.profile")}
    agents = []
    try:
        with Receiver(BUILD) as receiver:
            write_ini(ini, tmp_path, "http://127.0.0.1:9", marker)  # nobody listens at the discard port
            for run in range(2):
                agents.append(pystrobe.start("agent", "-c", ini))
                before = len(entries())
                live.wait_until(lambda: len(entries()) >= before + 4, "profiles on disk")
                agents[-1].send_signal(signal.SIGKILL)
                agents[-1].wait()
            kept = len(entries())
            assert kept >= 8
            write_ini(ini, tmp_path, receiver.url, marker)
            agents.append(pystrobe.start("agent", "-c", ini))
            pushes = receiver.wait(kept)
            live.wait_until(lambda: len(receiver.pushes) >= kept + 2, "new profiles")
            starts = [(push.labels["__name__"], push.profile.time_nanos) for push in pushes]
            assert len(set(starts)) == len(starts)  # none twice
            for name in {name for name, _ in starts}:
                times = [time for got, time in starts if got == name]
                assert times == sorted(times)
    finally:
        for process in [*agents, target.process]:
            process.kill()
            process.wait()

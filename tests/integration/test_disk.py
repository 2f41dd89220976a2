# SPDX-License-Identifier: Apache-2.0
"""What becomes of profiles when the spool's disk is full, read-only, broken or does not answer.

strace breaks system calls of a real agent, and takes CPU time for it; a tmpfs of its own is filled, or is read-only.
"""

import contextlib
import gzip
import os
import re
import shutil
import signal
import subprocess

import pytest

import entries
import live
import profiles
from agents import SPOOLING
from conftest import MACHINES
from receiver import Receiver

INI = SPOOLING + """[exporter server]
type = pyroscope
url = {url}
"""
IN_MEMORY = "profiles wait in memory instead"
BACK = "works again"
SLOW_S = 9  # longer than the disk has to answer
HANG_S = 10 * live.DEADLINE_S
FILES = 4  # the entries of two intervals

# strace's own process must not be the agent's parent, which is to be signalled and waited for.
STRACE = ["strace", "-D", "-f", "-qq", "-o", "/dev/null"]


def with_strace(test):
    # strace and the sanitizers do not get along
    return pytest.mark.timing(pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")(test))


class Disk:
    """An agent, the program that it samples, and the server that it pushes to."""

    def __init__(self, agent, start, tmp_path, receiver):
        self.receiver, self.spool = receiver, tmp_path / "disk" / "spool"
        self.spool.parent.mkdir(exist_ok=True)
        script = tmp_path / "target.py"
        script.write_bytes(open(os.path.join(live.TARGETS, "busy.py"), "rb").read())
        self.pid = start(MACHINES[-1], str(script), "--duty", 0.1).read_json()["pid"]
        self.ini = INI.format(spool=self.spool, target=re.escape(str(script)), url=receiver.url)
        self._agent = agent

    def run(self, *under):
        one = self._agent(self.ini, under)
        one.wait_for([self.pid])
        return one

    def pushes(self, count):
        """At least so many more pushes than there are."""
        return self.receiver.wait(len(self.receiver.pushes) + count)

    def half_written(self):
        return [name for name in os.listdir(self.spool) if name.endswith(".tmp")]


@pytest.fixture
def disk(agent, start, tmp_path):
    with Receiver(profiles.BUILD) as receiver:
        yield Disk(agent, start, tmp_path, receiver)


def assert_none_twice(pushes):
    keys = [(push.labels["__name__"], push.profile.time_nanos) for push in pushes]
    assert len(set(keys)) == len(keys), keys


def assert_none_lost(log):
    """By the agent's own words."""
    assert [line for line in log if "could not be delivered" in line or "dropped" in line and "stopped:" not in line] == []


def broken(disk, call, how):
    """The words that break a call where it is about one of the first files."""
    paths = ["%s/.%016x.tmp" % (disk.spool, number) for number in range(1, FILES + 1)]
    if call == "renameat":  # which strace knows by the directory only
        paths = [disk.spool]
    return [*STRACE, "-e", "trace=" + call, *[word for path in paths for word in ("-P", str(path))],
            "-e", "inject=%s:%s" % (call, how)]


@pytest.mark.parametrize("call, how, words", [
    ("write", "error=ENOSPC", "No space left on device"),
    pytest.param("fsync", "error=EIO", "Input/output error", marks=pytest.mark.long),
    pytest.param("renameat", "error=EIO:when=1..%d" % FILES, "Input/output error", marks=pytest.mark.long),
])
@with_strace
def test_profiles_go_past_a_disk_that_fails_and_back_to_it(disk, call, how, words):
    disk.spool.mkdir(0o700)  # strace looks for it first

    run = disk.run(*broken(disk, call, how))
    said = run.wait_for_line(IN_MEMORY)
    run.wait_for_line(BACK)
    disk.pushes(2)
    status, _ = run.stop()

    assert status == 0
    assert words in said
    assert len([line for line in run.log if words in line]) == 1  # of several that failed
    assert disk.half_written() == []
    assert_none_twice(disk.receiver.pushes)
    assert_none_lost(run.log)


@pytest.mark.long
@with_strace
def test_what_a_slow_disk_was_given_is_not_sent_again_when_it_answers(disk):
    disk.spool.mkdir(0o700)

    run = disk.run(*broken(disk, "fsync", "delay_enter=%d:when=1" % (SLOW_S * 10**6)))
    said = run.wait_for_line(IN_MEMORY)
    run.wait_for_line(BACK)
    disk.pushes(2)
    status, _ = run.stop()

    assert status == 0
    assert "the disk does not answer" in said
    assert disk.half_written() == []
    assert_none_twice(disk.receiver.pushes)
    assert_none_lost(run.log)


@with_strace
def test_a_disk_that_hangs_holds_up_neither_delivery_nor_the_end(disk):
    disk.spool.mkdir(0o700)

    run = disk.run(*broken(disk, "fsync", "delay_enter=%d:when=1" % (HANG_S * 10**6)))
    live.wait_until(disk.half_written, "it hangs")
    disk.pushes(4)
    run.end_traced()

    assert any("the disk does not answer" in line for line in run.log)
    assert_none_twice(disk.receiver.pushes)


@pytest.mark.long
@with_strace
def test_new_settings_while_a_disk_hangs_leave_the_agent_running(disk):
    disk.spool.mkdir(0o700)

    run = disk.run(*broken(disk, "fsync", "delay_enter=%d:when=1" % (HANG_S * 10**6)))
    live.wait_until(disk.half_written, "it hangs")
    with open(run.ini, "a", encoding="utf-8") as file:
        file.write("timeout = 7s\n")
    run.process.send_signal(signal.SIGHUP)
    run.wait_for_line("reloaded: ")
    disk.pushes(4)
    run.end_traced()

    assert_none_twice(disk.receiver.pushes)


@with_strace
def test_an_entry_that_cannot_be_read_now_is_not_set_aside(disk):
    for order in (1, 2, 3):
        entries.put(disk.spool, order, "shop", gzip.compress(b"\x32\x00"))

    # The thread that takes them up opens the directory, then one after the other.
    run = disk.run(*STRACE, "-e", "trace=openat", "-P", str(disk.spool), "-e", "inject=openat:error=EMFILE:when=4")
    disk.pushes(2)
    status, _ = run.stop()

    assert status == 0
    assert [name for name in os.listdir(disk.spool) if name.endswith(".batch")] == ["0000000000000001-server.batch"]
    assert "bad" not in os.listdir(disk.spool)


# A tmpfs of its own, and what the shell says in between.
ON_TMPFS = ["unshare", "-m", "/bin/sh", "-c", 'mount -t tmpfs -o size=256k,"$1" none "$2" && shift 2 && exec "$@"', "sh"]


@pytest.fixture
def disk_on_tmpfs(disk):
    """disk_on_tmpfs(how) runs the agent with its spool on a small tmpfs that is mounted so."""
    if os.geteuid() != 0:
        pytest.skip("a mount needs root")
    if subprocess.run([*ON_TMPFS, "rw", "/tmp", "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        pytest.skip("no mount namespace can be made here: this is a chroot, or a container")

    def run(how):
        agent = disk.run(*ON_TMPFS, how, str(disk.spool.parent))
        disk.inside = "/proc/%d/root%s" % (agent.process.pid, disk.spool.parent)
        return agent

    disk.run_on_tmpfs = run
    return disk


def fill(file):
    """Takes all that is free on its disk: again and again, as profiles that were sent leave it."""
    with contextlib.suppress(OSError):
        while True:
            file.write(bytes(512))
    return True


def test_profiles_go_past_a_full_disk_and_back_to_it(disk_on_tmpfs):
    disk = disk_on_tmpfs
    run = disk.run_on_tmpfs("rw")
    disk.pushes(2)
    filler = os.path.join(disk.inside, "filler")

    with open(filler, "wb", buffering=0) as file:
        live.wait_until(lambda: fill(file) and any(IN_MEMORY in line for line in run.log), "the disk is full", 0.1)
    said = run.wait_for_line(IN_MEMORY)
    disk.pushes(4)
    os.unlink(filler)
    run.wait_for_line(BACK)
    disk.pushes(2)
    status, _ = run.stop()

    assert status == 0
    assert "No space left on device" in said
    assert_none_twice(disk.receiver.pushes)
    assert_none_lost(run.log)


@pytest.mark.long  # a spool that cannot be opened is tried again every 10 s
def test_profiles_go_past_a_read_only_disk_and_back_to_it(disk_on_tmpfs):
    disk = disk_on_tmpfs
    run = disk.run_on_tmpfs("ro")
    said = run.wait_for_line(IN_MEMORY)
    disk.pushes(4)
    subprocess.run(["nsenter", "-m", "-t", str(run.process.pid), "mount", "-o", "remount,rw", str(disk.spool.parent)],
                   check=True)
    run.wait_for_line(BACK)
    disk.pushes(2)
    status, _ = run.stop()

    assert status == 0
    assert "Read-only file system" in said
    assert_none_twice(disk.receiver.pushes)
    assert_none_lost(run.log)

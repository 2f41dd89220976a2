# SPDX-License-Identifier: Apache-2.0
"""Processes on a file system that does not answer, of another user: others are sampled, and the agent ends."""

import contextlib
import os
import random
import signal
import subprocess
import time

import pytest

import live
import profiles
from conftest import MACHINES
from doctors import needs_root
from test_metrics import ask, free_port, parse

STOP_S = 5  # stop_timeout, as it is by default
MORE_S = 20 if live.SANITIZED else 2  # a sanitizer makes the end slower; without the limit it would never come
OWNER_MAX, SAMPLERS = 3, 5  # of child_process.h; of supervisor.h, and the one of those in quarantine
INI = """
[agent]
rate = 50Hz
interval = 1s
scan = 200ms
control = %(folder)s/control
[http]
listen = 127.0.0.1:%(port)d
[target busy]
cmdline = busy_%(mark)s
service = busy
[exporter out]
type = store
path = %(folder)s/store
"""

PYTHON = "/usr/bin/python3"
SLEEP = "import time; time.sleep(3600)"
HAS_CHUNKS = subprocess.run([PYTHON, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]).returncode == 0

pytestmark = needs_root
needs_frames_of_chunks = pytest.mark.skipif(not HAS_CHUNKS, reason="dead_frame.py knows the frames of CPython 3.11 and later only")


@pytest.fixture
def nobodys(dead):
    """nobodys(words): a program of another user, which ends with the test once `dead` has ended. The user is no other
    test's: what programs of one user do to pystrobe, all of that user's pay for."""
    running, user = [], 100000 + random.getrandbits(24)

    def run(words):
        running.append(live.Target(["setpriv", "--reuid=%d" % user, "--regid=65534", "--clear-groups", *words]))
        return running[-1]

    yield run
    for target in running:
        target.process.kill()


class Scene:
    """An agent that samples a program of root's."""

    def __init__(self, pystrobe, agent, start, folder):
        self.pystrobe, self.folder, self.port = pystrobe, folder, free_port()
        mark = "m%d" % random.getrandbits(48)
        self.mark = "busy_" + mark
        self.pid = start(MACHINES[-1], "busy.py", "--duty", 0.05, "--shares", self.mark + ":1").read_json()["pid"]
        self.run = agent(INI % {"folder": folder, "port": self.port, "mark": mark})

    def samples(self, pid=None):
        """How many samples the agent has of it; None: it is not sampled."""
        found = self.pystrobe.status(self.folder / "control")
        return next((target["samples"] for target in found["targets"] if target["pid"] == (pid or self.pid)), None)

    def share_of_samples(self, seconds):
        """How many of its samples the program of root's gets meanwhile; two seconds more or less, as it is told."""
        before, began = live.wait_until(self.samples, "it has samples", 0.1), time.monotonic()
        time.sleep(seconds)
        return (self.samples() - before) / (50 * (time.monotonic() - began))

    def profiles(self):
        return len(profiles.paths_in_store(self.folder / "store", "busy"))


@pytest.fixture
def scene(pystrobe, agent, start, tmp_path):
    return lambda: Scene(pystrobe, agent, start, tmp_path)


def stuck_children(pid):
    """Its children that not even SIGKILL has ended, or that nobody has reaped."""
    found = []
    for child in live.children_of(pid):
        with contextlib.suppress(OSError):
            if live.state_of(child, child) in "DZ":
                found.append(child)
    return found


def is_stuck(pid):
    """True if it sleeps where no signal but SIGKILL ends it."""
    return live.state_of(pid, pid) == "D"


def test_a_process_that_holds_its_mmap_lock_holds_nobody_up(scene, dead, nobodys):
    """Nobody can read its command line, its environment or its maps."""
    files = dead("kill")
    pid = nobodys([*live.words_of_target("locked_memory.py"), str(files.path / "file")]).read_json()["pid"]
    live.wait_until(lambda: is_stuck(pid), "it holds its lock")

    one = scene()
    one.run.wait_for([one.pid])
    one.run.wait_for_line("process %d blocks readers of its command line" % pid)
    before = one.profiles()
    share = one.share_of_samples(10)
    live.wait_until(lambda: one.profiles() > before, "a profile")

    found = one.pystrobe.status(one.folder / "control")
    assert [target["state"] for target in found["targets"] if target["pid"] == pid] == ["apart"]
    assert parse(ask(one.port, "/metrics")[1])["pystrobe_targets"]['state="apart"'] >= 1  # another test may have one, too
    code, took_s = one.run.stop()
    print("%.0f %% of the samples; the end took %.2f s" % (100 * share, took_s))
    assert code == 0 and took_s < STOP_S + MORE_S
    assert share > 0.5


@pytest.mark.parametrize("words", [["dump"], ["record", "-d", "1s", "-o", "out.pb.gz"]], ids=["dump", "record"])
def test_a_command_about_a_process_that_holds_its_mmap_lock_ends(pystrobe, dead, nobodys, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = dead("kill")
    pid = nobodys([*live.words_of_target("locked_memory.py"), str(files.path / "file")]).read_json()["pid"]
    live.wait_until(lambda: is_stuck(pid), "it holds its lock")

    began = time.monotonic()
    done = pystrobe.run(*words, "--pid", pid)
    assert done.returncode == 69
    assert done.stderr == "pystrobe: process %d cannot be read: it blocks readers of its command line\n" % pid
    assert time.monotonic() - began < 10


@needs_frames_of_chunks
def test_new_processes_wait_where_others_of_their_owner_have_blocked_samplers(scene, dead, nobodys):
    """SIGKILL ends all of these samplers but one. What their owner had before goes on."""
    files = dead()
    one = scene()
    before = nobodys([PYTHON, "-c", SLEEP, one.mark]).pid
    one.run.wait_for([one.pid, before])
    pid = nobodys([*live.words_of_target("dead_frame.py"), str(files.path / "file"), "4", one.mark]).read_json()["pid"]
    one.run.wait_for_line("new ones are sampled after pauses of up to a minute")

    samples = one.samples(before)
    live.wait_until(lambda: one.samples(before) > samples, "what their owner had before is sampled", 0.2)
    live.wait_until(lambda: one.pystrobe.status(one.folder / "control")["left_out"]["owner"], "a new one is left alone", 0.2)
    assert len(stuck_children(one.run.process.pid)) < OWNER_MAX

    os.kill(pid, signal.SIGUSR1)
    files.__exit__()
    after = nobodys([PYTHON, "-c", SLEEP, one.mark]).pid
    live.wait_until(lambda: one.samples(after), "new ones are sampled again", 0.2)
    assert one.run.stop()[0] == 0


@needs_frames_of_chunks
def test_samplers_that_not_even_sigkill_ends_stay_few(scene, dead, nobodys):
    """New processes block samplers over and over. Once the file system is gone all is as before."""
    files = dead()
    one = scene()
    one.run.wait_for([one.pid])
    pid = nobodys([*live.words_of_target("dead_frame.py"), str(files.path / "file%d"), "4", one.mark]).read_json()["pid"]
    one.run.wait_for_line("no process of this owner is sampled until they do")

    most, until = 0, time.monotonic() + 15
    before = one.profiles()
    share = one.share_of_samples(10)
    while time.monotonic() < until:
        most = max(most, len(stuck_children(one.run.process.pid)))
        time.sleep(0.05)
    assert one.profiles() > before
    assert one.pystrobe.status(one.folder / "control")["left_out"]["owner"] > 0
    text = one.pystrobe.run("status", "--socket", one.folder / "control").stdout
    assert "(others of their owner block samplers)" in text

    os.kill(pid, signal.SIGUSR1)
    files.__exit__()
    live.wait_until(lambda: not stuck_children(one.run.process.pid), "all are reaped", 0.2)
    live.wait_until(lambda: one.samples(pid), "others of that user are sampled again", 0.2)
    print("%d stuck at most, %.0f %% of the samples" % (most, 100 * share))
    assert OWNER_MAX <= most <= OWNER_MAX + SAMPLERS
    assert share > 0.5
    assert one.run.stop()[0] == 0


@needs_frames_of_chunks
def test_the_end_waits_for_no_sampler_that_not_even_sigkill_ends(scene, dead, nobodys):
    files = dead()
    one = scene()
    one.run.wait_for([one.pid])
    nobodys([*live.words_of_target("dead_frame.py"), str(files.path / "file%d"), "4", one.mark]).read_json()
    one.run.wait_for_line("no process of this owner is sampled until they do")

    began = time.monotonic()
    one.run.process.send_signal(signal.SIGTERM)
    code, took_s = one.run.process.wait(live.DEADLINE_S), time.monotonic() - began
    files.__exit__()  # its samplers hold the other end of the agent's log
    print("the end took %.2f s" % took_s)
    assert code == 0 and took_s < STOP_S + MORE_S

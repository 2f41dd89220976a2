# SPDX-License-Identifier: Apache-2.0
"""What becomes of the agent when its samplers hang, are stopped or killed: nothing that others notice."""

import contextlib
import os
import random
import re
import resource
import shutil
import signal
import time

import pytest

import agents
import live
import profiles

PYTHON = [python for python in live.load_pythons()[0] if not python["root"]][-1]
THREADS = 3  # of busy.py: one that burns, the main one, and the one that waits for the end of its input
SAMPLING = re.compile(r"process (\d+): sampling")

INI = """
[agent]
rate = 50Hz
interval = 1s
scan = 200ms
[target stall]
cmdline = stall\\.py.* %(mark)s
service = stall
[target busy]
cmdline = busy\\.py.* busy_%(mark)s:
service = busy
[exporter out]
type = store
path = %(store)s
"""


def samplers_of(run):
    """The pids of the samplers of an agent that run."""
    found = []
    for pid in live.children_of(run.process.pid):
        with contextlib.suppress(OSError):
            with open("/proc/%d/cmdline" % pid, "rb") as file:
                if file.read().split(b"\0")[1:2] == [b"sampler"]:
                    found.append(pid)
    return found


class Scene:
    """An agent that samples busy programs of its own; with a clock of how long it did."""

    def __init__(self, agent_of, start, folder, count):
        self.mark = "m%d" % random.getrandbits(48)
        self.store = folder / "store"
        self.start = start
        targets = [start(PYTHON, "busy.py", "--duty", 0.05, "--shares", "busy_%s:1" % self.mark) for _ in range(count)]
        self.pids = [target.read_json()["pid"] for target in targets]
        self.run = agent_of(INI % {"mark": self.mark, "store": self.store})
        self.run.wait_for(self.pids)
        self.began_ns = time.monotonic_ns()

    def stall(self, after_s):
        """Starts a program that blocks its reader; gives its pid."""
        said = self.start(PYTHON, "stall.py", after_s, self.mark).read_json()
        if "skip" in said:
            pytest.skip(said["skip"])
        return said["pid"]

    def samplers(self):
        return samplers_of(self.run)

    def lines(self, words):
        return [line for line in self.run.log if words in line]

    def wait_line(self, words, count=1):
        live.wait_until(lambda: len(self.lines(words)) >= count, words)

    def wait_profile(self):
        """Waits for one more profile."""
        count = len(profiles.paths_in_store(self.store, "busy"))
        live.wait_until(lambda: len(profiles.paths_in_store(self.store, "busy")) > count, "a profile")

    def end(self):
        """Stops the agent; gives the share of the busy programs' time that is in their profiles."""
        elapsed_ns = time.monotonic_ns() - self.began_ns
        status, _ = self.run.stop()
        assert status == 0
        found = profiles.in_store(self.store, "busy")
        return profiles.total(found, "wall") / (elapsed_ns * THREADS * len(self.pids))


@pytest.fixture
def scene(agent, start, tmp_path):
    return lambda count=2: Scene(agent, start, tmp_path, count)


def test_a_process_that_blocks_its_reader_is_put_apart_and_named_once(scene):
    one = scene()
    pid = one.stall(1)
    words = "process %d blocked the sampler" % pid

    one.wait_line(words)
    samplers = set()
    for _ in range(2):  # the sampler that it blocked may be there still, or the next one not yet
        one.wait_profile()
        samplers |= set(one.samplers())
    for _ in range(4):  # it is tried again meanwhile
        one.wait_profile()

    assert samplers & set(one.samplers()), "it holds up the sampler of the others again and again"
    assert one.end() > 0  # how little is lost, test_long_ tells
    assert len(one.lines(words)) == 1


def test_the_end_waits_for_no_blocked_read(scene):
    one = scene(1)
    one.stall(0)
    one.wait_line("blocked the sampler")
    time.sleep(2)

    assert one.run.stop()[0] == 0  # a blocked read is for ever


def test_a_program_on_a_file_system_that_does_not_answer_holds_nobody_up(scene):
    one = scene(1)
    said = one.start(PYTHON, "frozen.py").read_json()
    if "skip" in said:
        pytest.skip(said["skip"])
    time.sleep(1)  # it is looked at, and no Python

    more = one.start(PYTHON, "busy.py", "--duty", 0.05, "--shares", "busy_%s:1" % one.mark).read_json()["pid"]
    one.run.wait_for([more])

    assert one.run.stop()[0] == 0


def test_samplers_that_are_killed_are_started_again(scene):
    one = scene()
    for count in range(1, 4):
        live.wait_until(one.samplers, "a sampler runs")
        os.kill(random.choice(one.samplers()), signal.SIGKILL)
        one.wait_line("a sampler has ended (signal 9)", count)
        one.wait_profile()  # others sample on, and so does the one that is new
    live.wait_until(one.samplers, "a sampler runs")

    assert one.end() > 0
    assert not one.lines("crashed the sampler")  # nobody is blamed for it


def test_a_sampler_that_is_stopped_is_replaced(scene):
    one = scene()
    one.wait_profile()
    stopped = one.samplers()
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)

    one.wait_line("a sampler did not answer")
    live.wait_until(lambda: one.samplers() and not set(one.samplers()) & set(stopped), "new samplers")
    one.wait_profile()

    assert one.end() > 0


def test_no_sampler_outlives_the_agent(scene):
    one = scene()
    samplers = one.samplers()
    assert samplers

    one.run.process.kill()
    one.run.process.wait()

    live.wait_until(lambda: not any(os.path.exists("/proc/%d" % pid) for pid in samplers), "they are gone")


def test_a_sampler_keeps_no_rights_and_knows_nothing_of_the_agent(scene, monkeypatch):
    monkeypatch.setenv("SOME_TOKEN", "secret")
    one = scene(1)
    pid = one.samplers()[0]

    with open("/proc/%d/environ" % pid, "rb") as file:
        assert b"secret" not in file.read()
    with open("/proc/%d/status" % pid, encoding="ascii") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    allowed = 1 << 19 | 1 << 23 | 1 << 2 | 1 << 40  # SYS_PTRACE, SYS_NICE, DAC_READ_SEARCH, CHECKPOINT_RESTORE
    assert int(status["CapPrm"], 16) & ~allowed == 0
    assert status["NoNewPrivs"] == "1"
    sockets = [link for link in (os.readlink("/proc/%d/fd/%s" % (pid, fd)) for fd in live.fds_of(pid))
               if link.startswith("socket:")]
    assert len(sockets) <= 2  # the link; and the log may be one
    limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    assert limits[0] == limits[1]  # it opens files of each thread


@pytest.mark.skipif(live.SANITIZED, reason="what a sanitizer adds makes system calls of its own")
def test_a_sampler_has_a_filter_of_its_own_for_system_calls(scene):
    one = scene(1)
    one.wait_profile()
    pid = one.samplers()[0]
    one.wait_profile()

    with open("/proc/%d/status" % pid, encoding="ascii") as file:
        assert "\nSeccomp:\t2\n" in file.read()
    assert pid in one.samplers()  # it has sampled with it
    assert one.end() > 0


def upgrade(path):
    """Installs another program in the place of one that runs, as a package does."""
    shutil.copy(shutil.which("false"), path + ".new")
    os.rename(path + ".new", path)


def exes_of(pids):
    return {os.readlink("/proc/%d/exe" % pid) for pid in pids}


def test_an_agent_that_is_upgraded_while_it_runs_keeps_samplers_of_its_own_build(start, open_pystrobe, tmp_path):
    running = []

    def run_agent(text):
        (tmp_path / "agent.ini").write_text(text.replace("[agent]", "[agent]\nmax_cpu = 100%"))
        running.append(agents.Agent(open_pystrobe, tmp_path / "agent.ini"))
        return running[-1]

    try:
        one = Scene(run_agent, start, tmp_path, 2)
        upgrade(str(open_pystrobe.path))
        before = one.samplers()
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        one.wait_line("a sampler has ended (signal 9)", len(before))
        live.wait_until(lambda: one.samplers() and not set(one.samplers()) & set(before), "new samplers")
        for _ in range(2):  # the first may be of what the old ones have sampled
            one.wait_profile()

        if not open_pystrobe.words:  # else it may be what runs it
            assert exes_of(one.samplers()) == {"%s (deleted)" % open_pystrobe.path}
        assert one.end() > 0
        assert not one.lines("of build")
    finally:
        for run in running:
            run.process.kill()
            run.process.wait()


IDLERS = os.path.join(live.TESTS, "bench", "targets", "idlers.py")
FEW_INI = """
[agent]
max_cpu = %(max_cpu)s
[target idlers]
cmdline = idlers\\.py %(mark)s
[exporter out]
type = store
path = %(store)s
"""


@pytest.mark.parametrize("max_cpu, count", [("60%", 1), ("100%", 2)])
def test_there_are_as_many_samplers_as_may_take_half_a_core_each(agent, start, tmp_path, max_cpu, count):
    if os.cpu_count() < count:
        pytest.skip("there are fewer CPUs")
    mark = "m%d" % random.getrandbits(48)
    forking = start(PYTHON, IDLERS, mark, 70, 1, 10, 1, 0)
    opened = {(int(pid), "") for pid in forking.process.stdout.readline().split()[1:]}
    run = agent(FEW_INI % {"max_cpu": max_cpu, "mark": mark, "store": tmp_path / "store"})
    live.wait_until(lambda: opened <= profiles.opened_by(run.process.pid), "all are sampled", 0.1)

    assert len(samplers_of(run)) == count
    assert run.stop()[0] == 0


@pytest.mark.parametrize("words", [["dump", "--json"], ["record", "-d", "1h", "-o", "out.pb.gz"]], ids=["dump", "record"])
def test_commands_give_a_process_up_that_blocks_their_read(pystrobe, start, tmp_path, words):
    said = start(PYTHON, "stall.py", 0).read_json()
    if "skip" in said:
        pytest.skip(said["skip"])
    words = [word.replace("out", str(tmp_path / "out")) for word in words]

    def blocks():
        done = pystrobe.run(*words, "--pid", said["pid"])
        return done.returncode == 69 and "process %d blocks its readers" % said["pid"] in done.stderr

    live.wait_until(blocks, "the command gives it up")  # it may be read before it begins to block


@pytest.mark.nightly
def test_long_a_blocked_read_costs_others_less_than_a_hundredth(scene):
    one = scene()
    one.stall(5)
    time.sleep(60)

    share = one.end()

    print("the others have %.2f %% of their time" % (100 * share))
    assert one.lines("blocked the sampler")
    assert 0.99 < share < 1.01

# SPDX-License-Identifier: Apache-2.0
"""What users of a machine can do to its agent, all at once: sampling, delivery and the promises go on.

Each attack has a test of its own where its cure is tested; here they run beside each other, by user 1000, for ATTACK_S
seconds. While they run, `ps` hangs on this machine, as does all else that reads each process's command line.
"""

import contextlib
import os
import pathlib
import re
import subprocess
import time

import pytest

import live
import pages
import profiles
from dead_files import DeadFiles
from doctors import needs_root
from receiver import Receiver

PYTHON = "/usr/bin/python3"
ATTACKER = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups"]
ATTACK_S = int(os.environ.get("ATTACK_S", "120"))
LOCKS, STALLS, SETTLE_S, LOOK_S, WINDOW_S = 4, 5, 15, 5, 60
RATE_HZ, INTERVAL_S, MAX_CPU, MAX_MEMORY, STOP_S = 19, 5, 0.01, 64 << 20, 10
HARMLESS = "import sys; print('{}', flush=True); sys.stdin.read()"
INI = """
[agent]
rate = %(rate)dHz
interval = %(interval)ds
scan = 1s
max_cpu = 1%%
max_memory = 64MiB
stop_timeout = %(stop)ds
spool = %(dir)s/spool
control = %(dir)s/control.sock
[http]
listen = 127.0.0.1:%(port)d
[target desk]
cmdline = %(dir)s/desk
service = desk
[target attackers]
user = 1000
[exporter out]
type = pyroscope
url = %(url)s
"""

pytestmark = [needs_root, pytest.mark.nightly, pytest.mark.alone]


def samples_of(told, pid):
    return next(one["samples"] for one in told["targets"] if one["pid"] == pid)


def is_sampled(told, pid):
    return any(one["pid"] == pid and one["state"] == "sampled" for one in told["targets"])


def memory_of(pid):
    """Bytes of the process and of all below it; what they share is counted once."""
    found = 0
    for one in profiles.family(pid):
        try:
            text = pathlib.Path("/proc/%d/smaps_rollup" % one).read_text(encoding="ascii")
        except OSError:
            continue
        found += int(re.search(r"^Pss: +(\d+)", text, re.M).group(1)) << 10
    return found


def state_of(pid):
    """As live.state_of; None: it is gone."""
    with contextlib.suppress(OSError):
        return live.state_of(pid, pid)


def children_of(agent):
    return {pid: state_of(pid) for pid in profiles.family(agent.process.pid)[1:]}


class Attacks:
    """with Attacks(folder, port, frames): they run. Once it ends, they have ended. `frames`: FILE of dead_frame.py."""

    def __init__(self, folder, port, frames):
        self.frames = frames
        self.files = DeadFiles(folder / "dead")
        self.folder = folder
        self.port = port
        self.running = []

    def begin(self, script, *words):
        process = subprocess.Popen([*ATTACKER, *live.words_of_target(script), *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.running.append(process)
        assert process.stdout.readline(), script

    def begin_all(self):
        for i in range(LOCKS):
            self.begin("locked_memory.py", self.folder / "dead" / ("locked%d" % i))
        self.begin("dead_frame.py", self.folder / "dead" / self.frames, STALLS, "attack")
        self.begin("sparse.py", self.folder / "theirs" / "sparse")
        self.begin("flood.py", 100)
        self.begin("web_flood.py", self.port)

    def __enter__(self):
        (self.folder / "dead").mkdir(exist_ok=True)
        (self.folder / "theirs").mkdir(exist_ok=True)
        os.chown(self.folder / "theirs", 1000, 1000)
        if self.files.__enter__() is None:
            pytest.skip("no file system can be mounted here: " + self.files.reason)
        try:
            self.begin_all()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *what):
        for process in self.running:
            process.kill()
        self.files.__exit__()
        for process in self.running:
            process.wait()


class Watch:
    """Looks at an agent every few seconds."""

    def __init__(self, pid, receiver):
        self.pid = pid
        self.receiver = receiver
        self.cpu, self.memory, self.pushes = [], [], 0

    def go_on(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.cpu.append((time.monotonic(), profiles.cpu_s_of(self.pid)))
            self.memory.append(memory_of(self.pid))
            self.pushes += sum(push.labels["service_name"] == "desk" for push in self.receiver.take())
            time.sleep(LOOK_S)

    def most_cpu(self):
        """The largest share of a core over a minute, or over all of it if that is shorter."""
        most = 0
        for i, (began, used) in enumerate(self.cpu):
            later = [one for one in self.cpu[i:] if one[0] - began >= min(WINDOW_S, self.cpu[-1][0] - self.cpu[0][0])]
            if later:
                most = max(most, (later[0][1] - used) / (later[0][0] - began))
        return most


@pytest.mark.parametrize("frames", ["own%d", "shared"])
def test_all_attacks_at_once_take_nothing_from_anybody(pystrobe, agent, start, open_folder, frames):
    folder, port = open_folder, pages.free_port()
    desk = pages.start_target(start, folder, "desk_quiet.py", "quiet").pid
    with Receiver(profiles.BUILD) as receiver:
        run = agent(INI % {"dir": folder, "port": port, "url": receiver.url, "rate": RATE_HZ, "stop": STOP_S, "interval": INTERVAL_S})
        run.wait_for([desk])
        watch = Watch(run.process.pid, receiver)
        with Attacks(folder, port, frames):
            time.sleep(SETTLE_S)
            before, began = samples_of(pystrobe.status(folder / "control.sock"), desk), time.monotonic()
            watch.go_on(ATTACK_S)
            kept = samples_of(pystrobe.status(folder / "control.sock"), desk) - before
            passed = time.monotonic() - began
            during = children_of(run)

        live.wait_until(lambda: not {"D", "Z"} & set(children_of(run).values()), "all have been reaped", 0.2)
        harmless = live.Target([*ATTACKER, PYTHON, "-c", HARMLESS])
        live.wait_until(lambda: is_sampled(pystrobe.status(folder / "control.sock"), harmless.pid), "their processes are sampled again", 0.5)
        harmless.stop()
        after = children_of(run)

        with Attacks(folder, port, frames):
            time.sleep(SETTLE_S)
            last = children_of(run)
            code, took = run.stop()
        live.wait_until(lambda: not any(map(state_of, last)), "all children have ended", 0.2)

    print("attacks, frames on %s: %.1f %% of samples kept, %d profiles in %.0f s, %.2f %% of a core over the worst minute, %.1f MiB at most, "
          "%d of %d children stuck, %d children after it, ended in %.1f s" % (
              frames, 100 * kept / (RATE_HZ * passed), watch.pushes, passed, 100 * watch.most_cpu(), max(watch.memory) / 2**20,
              list(during.values()).count("D"), len(during), len(after), took))
    assert kept >= 0.9 * RATE_HZ * passed
    assert watch.pushes >= passed / INTERVAL_S / 2
    assert watch.most_cpu() <= 2 * MAX_CPU
    assert max(watch.memory) <= MAX_MEMORY + (32 << 20)
    assert code == 0 and took < STOP_S + 2

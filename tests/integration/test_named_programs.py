# SPDX-License-Identifier: Apache-2.0
"""Real programs from PyPI under one agent with the packaged settings' names: each process has the name of its application.

`make programs` installs what tests/setup/programs.txt lists, and runs these. It writes a table of what was found. A few
programs run at a time; the first test of these waits for them.
"""

import collections
import contextlib
import glob
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
import urllib.parse
import zipapp

import pytest

import live
import packages  # of tests/setup, which live puts on the path
import profiles
from agents import Agent
from named_programs import PROGRAMS, SECRET

BATCH, LEAST_PROGRAMS = 4, 35
STARTED_S, WINDOW_S, LOOK_S, STATUS_S = 40, 8, 0.2, 1
NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
SAMPLING = re.compile(r"process (\d+): sampling Python \S+ as service (.*)$")
# Starts a program as a service manager does: no Python is above it, the tests' own least of all.
ORPHAN = ["setsid", "--fork", "sh", "-c", 'echo $$ >"$0.new"; mv "$0.new" "$0"; exec "$@"']
TABLE = os.environ.get("PROGRAMS_TABLE", os.path.join(profiles.BUILD, "programs.md"))
INI = """
[agent]
rate = 19Hz
interval = 5s
scan = 1s
max_cpu = 100%%
log_level = debug
control = %(dir)s/control.sock
[target python]
exe = *
split = process
%(service)s
[exporter out]
type = store
path = %(dir)s/store
"""

pytestmark = [pytest.mark.nightly, pytest.mark.alone]


def packaged_service():
    """The line of the packaged settings that gives services their names."""
    text = pathlib.Path(live.TREE, "packaging", "host.ini").read_text(encoding="utf-8")
    return re.search(r"^service = .*$", text, re.M).group()


def stat_of(pid):
    """The fields of /proc/PID/stat from the third on."""
    return pathlib.Path("/proc/%d/stat" % pid).read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()


def ticks_of(fields, first, last):
    return sum(map(int, fields[first - 3:last - 2])) / os.sysconf("SC_CLK_TCK")


def command_of(pid):
    return pathlib.Path("/proc/%d/cmdline" % pid).read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()


class Process:
    """A process of a program: what it is, and the names that the agent gave it."""

    def __init__(self, pid):
        fields = stat_of(pid)
        self.pid = pid
        self.began = fields[19]
        self.began_s = ticks_of(fields, 22, 22)  # on the clock that goes on in a suspend
        self.commands = []
        self.names = []
        self.found_s = None

    def is_alive(self):
        with contextlib.suppress(OSError):
            return stat_of(self.pid)[19] == self.began
        return False

    def look(self):
        with contextlib.suppress(OSError):
            command = command_of(self.pid)
            if command and command not in self.commands:
                self.commands.append(command)

    def has_name(self, name):
        if self.found_s is None:
            self.found_s = time.clock_gettime(time.CLOCK_BOOTTIME) - self.began_s
        if name not in self.names:
            self.names.append(name)

    def cpu_s(self):
        """With that of its children that have ended."""
        with contextlib.suppress(OSError):
            return ticks_of(stat_of(self.pid), 14, 17)
        return 0


class Run:
    """A program that runs in a folder of its own."""

    def __init__(self, program, bin_folder, parent):
        self.program = program
        self.folder = parent / program.folder
        shutil.copytree(os.path.join(live.TARGETS, "programs"), self.folder)
        zipapp.create_archive(self.folder / "warehouse", self.folder / "tool.pyz")
        if program.hides:
            (self.folder / (program.hides + ".py")).write_text("raise ImportError\n", encoding="ascii")
        port, port2 = live.free_ports(2)
        self._values = {"bin": bin_folder, "dir": self.folder, "port": port, "port2": port2}
        self.processes = {}
        self.kernel_s = self.profiles_s = 0
        self._groups = []
        if program.support:
            self._start(program.support, "support", PYSTROBE_DISABLE="1")
            live.wait_until(lambda: is_served(port), program.support, 0.1)

    def begin(self):
        self._root = self._start(self.program.command, "log", **self.program.env)
        self.look()

    def _fill(self, text):
        return text.format(**self._values)

    def _start(self, command, log, **env):
        env = live.clean_environment(HOME=str(self.folder), PYTHONPATH=str(self.folder), PORT=str(self._values["port"]),
                                     **{name: self._fill(value) for name, value in env.items()})
        env["PATH"] = "%s:%s" % (self._values["bin"], env["PATH"])
        pid_file = self.folder / (log + ".pid")
        with open(self.folder / log, "wb") as file:
            subprocess.run([*ORPHAN, pid_file, *[self._fill(word) for word in shlex.split(command)]], cwd=self.folder, env=env,
                           stdin=subprocess.DEVNULL, stdout=file, stderr=file, check=True)
        self._groups.append(int(live.wait_until(lambda: pid_file.exists() and pid_file.read_text(encoding="ascii"), command)))
        return self._groups[-1]

    def living(self):
        return [one for one in self.processes.values() if one.is_alive()]

    def look(self):
        """Finds the children of the processes that are known, also of those that have lost their parent."""
        pids = [self._root]
        for one in self.living():
            with contextlib.suppress(OSError):
                pids += live.children_of(one.pid)
        for pid in pids:
            with contextlib.suppress(OSError):
                one = Process(pid)
                self.processes.setdefault((pid, one.began), one)
        for one in self.living():
            one.look()

    def of_pid(self, pid):
        return next((one for one in self.processes.values() if one.pid == pid), None)

    def pythons(self):
        return [one for one in self.processes.values() if one.names]

    def is_complete(self):
        return len(self.pythons()) >= self.program.least

    def note_cpu(self):
        self.kernel_s = sum(one.cpu_s() for one in self.living())

    def end(self):
        for one in self.living():
            with contextlib.suppress(ProcessLookupError):
                os.kill(one.pid, signal.SIGKILL)
        for group in self._groups:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)

    def names(self):
        """{name: how many processes had it}"""
        return collections.Counter(name for one in self.pythons() for name in one.names)

    def renamed(self):
        return [one for one in self.pythons() if len(one.names) > 1]

    def leaks(self):
        """Names that hold what no derived name may."""
        return sorted(name for name in self.names() if SECRET in name or not NAME.fullmatch(name))

    def share(self):
        return self.profiles_s / self.kernel_s if self.kernel_s else 0

    def found_s(self):
        return statistics.median(one.found_s for one in self.pythons()) if self.pythons() else float("nan")

    def text(self):
        """What was seen, for who reads why a test failed."""
        lines = ["%s: %s" % (self.program.title, self.program.command), "found: " + told(self.names())]
        lines += ["%d: %s: %s" % (one.pid, " -> ".join(one.names) or "(no Python)", " => ".join(one.commands))
                  for one in self.processes.values()]
        log = (self.folder / "log").read_text(encoding="utf-8", errors="replace")
        return "\n".join(lines + ["it printed: " + log[-1500:]])


def is_served(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def told(names):
    return ", ".join("%s x %d" % (name, count) for name, count in sorted(names.items())) or "nothing"


class Batch:
    """Some programs under one agent."""

    def __init__(self, pystrobe, programs, bin_folder, folder):
        self.folder = folder
        self.pystrobe = pystrobe
        self.read_lines = 0
        self.runs = [Run(program, bin_folder, folder / str(number)) for number, program in enumerate(programs)]
        try:
            self.watch()
        finally:
            for run in self.runs:
                run.end()
        self.read_store()

    def watch(self):
        ini = self.folder / "agent.ini"
        ini.write_text(INI % {"dir": self.folder, "service": packaged_service()}, encoding="utf-8")
        agent = Agent(self.pystrobe, ini)
        try:
            live.wait_until((self.folder / "control.sock").exists, "the agent's socket", 0.1)
            for run in self.runs:
                run.begin()
            self.look_until(agent, lambda: all(run.is_complete() for run in self.runs), STARTED_S)
            self.look_until(agent, lambda: False, WINDOW_S)
            for run in self.runs:
                run.note_cpu()
            status, _ = agent.stop()
            assert status == 0
        finally:
            if agent.process.poll() is None:
                agent.process.kill()
                agent.process.wait()
        self.read_log(agent)
        (self.folder / "agent.log").write_text("".join(agent.log), encoding="utf-8")

    def look_until(self, agent, is_done, seconds):
        end = asked = time.monotonic()
        end += seconds
        while time.monotonic() < end and not is_done():
            for run in self.runs:
                run.look()
            self.read_log(agent)
            if time.monotonic() >= asked:
                asked = time.monotonic() + STATUS_S
                self.note_names((one["pid"], one["service"]) for one in
                                self.pystrobe.status(self.folder / "control.sock")["targets"])
            time.sleep(LOOK_S)

    def read_log(self, agent):
        lines = agent.log[self.read_lines:]
        self.read_lines += len(lines)
        self.note_names((int(match.group(1)), match.group(2)) for match in map(SAMPLING.search, lines) if match)

    def note_names(self, pairs):
        for pid, name in pairs:
            for run in self.runs:
                one = run.of_pid(pid)
                if one and name:
                    one.has_name(name)

    def read_store(self):
        """Adds the names and the CPU time that stand in profiles."""
        paths = sorted(glob.glob(str(self.folder / "store" / "*" / "*.pb.gz")))
        for path, profile in zip(paths, profiles.read(*paths) if paths else []):
            name = urllib.parse.unquote(pathlib.Path(path).parent.name)
            column = profiles.column(profile, "cpu")
            for text, values in profile["label_totals"].get("pid", {}).items():
                self.note_names([(int(text), name)])
                for run in self.runs:
                    run.profiles_s += values[column] / 1e9 if run.of_pid(int(text)) else 0


class Runs:
    """The programs, a batch at a time, each once."""

    def __init__(self, pystrobe, make_folder):
        self.pystrobe = pystrobe
        self.make_folder = make_folder
        self.bin = os.path.join(packages.ensure("programs", print), "bin")
        self.batches = {}

    def of(self, program):
        number, place = divmod(PROGRAMS.index(program), BATCH)
        if number not in self.batches:
            self.batches[number] = Batch(self.pystrobe, PROGRAMS[number * BATCH:(number + 1) * BATCH], self.bin,
                                         self.make_folder("programs"))
        return self.batches[number].runs[place]

    def finish(self):
        """Writes the table if all programs ran; some of them, as at a second try, are printed only."""
        runs = [run for number in sorted(self.batches) for run in self.batches[number].runs]
        text = "\n".join([COLUMNS, *map(row_of, runs), "", summary_of(runs), ""])
        if len(runs) == len(PROGRAMS):
            with open(TABLE, "w", encoding="utf-8") as file:
                file.write(table_head() + text)
        print("\n" + text)


COLUMNS = """\
| program | found after s | Python processes | service | CPU s | in profiles |
|---|---|---|---|---|---|"""


def table_head():
    return """\
# Names of real programs

What `make programs` found on %s with %s: each program runs under one agent with the packaged settings.

- found after: from the start of a process until it is sampled under its name, the median over the program's processes
- service: the name of all Python processes of the program, and of programs that it starts; where it is not the one that is
  wanted, that stands behind it
- CPU: what the kernel counts for all processes of the program since they started, and the part of it that profiles have;
  what passed before a process was found is in none

""" % (time.strftime("%Y-%m-%d"), "Python %d.%d" % sys.version_info[:2])


def row_of(run):
    names = ", ".join(sorted(run.names())) or "-"
    wanted = {run.program.service, *run.program.also}
    if set(run.names()) != wanted:
        names = "%s (wanted: %s)" % (told(run.names()), ", ".join(sorted(wanted)))
    return "| %s | %.1f | %d | %s | %.2f | %.0f %% |" % (run.program.title, run.found_s(), len(run.pythons()), names, run.kernel_s,
                                                   100 * run.share())


def summary_of(runs):
    good = sum(set(run.names()) == {run.program.service, *run.program.also} for run in runs)
    return "programs: %d of %d under the name that is wanted; %d names that hold more than a name may; %d processes under two names" % (
        good, len(runs), sum(len(run.leaks()) for run in runs), sum(len(run.renamed()) for run in runs))


@pytest.fixture(scope="module")
def runs(pystrobe, tmp_path_factory):
    made = Runs(pystrobe, tmp_path_factory.mktemp)
    yield made
    made.finish()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: re.sub(r"\W+", "-", program.title))
def test_all_processes_of_a_program_have_the_name_of_its_application(runs, program):
    run = runs.of(program)

    assert not run.leaks(), run.text()
    assert not run.renamed(), run.text()
    assert set(run.names()) == {program.service, *program.also}, run.text()
    assert len(run.pythons()) >= program.least, run.text()


def test_there_are_enough_programs():
    assert len({program.title for program in PROGRAMS}) >= LEAST_PROGRAMS

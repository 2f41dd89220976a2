# SPDX-License-Identifier: Apache-2.0
"""What stands in front of a command: it runs as if it were alone, whatever becomes of the profiler."""

import fcntl
import json
import os
import pty
import resource
import select
import shutil
import signal
import struct
import subprocess
import termios
import time

import pytest

import live
import profiles

PYTHON = "/usr/bin/python3"
OWN_FAULTS = {signal.SIGFPE, signal.SIGILL, signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGTRAP,
              signal.SIGSYS}
PASSED = sorted(signal.valid_signals() - OWN_FAULTS - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD})


def command(pystrobe, tmp_path, *words):
    return pystrobe.words + [pystrobe.path, "exec", "--store", str(tmp_path / "store"), "--"] + [str(w) for w in words]


@pytest.fixture
def run(pystrobe, tmp_path):
    """run(*words, **options) starts pystrobe exec in front of a command, with pipes; all end with the test."""
    running = []

    def start(*words, **options):
        running.append(subprocess.Popen(command(pystrobe, tmp_path, *words), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options))
        return running[-1]

    yield start
    end_all(running)


def end_all(processes):
    """Ends them with all that is below, which would outlive them."""
    def kill_below(pid):
        try:
            for child in live.children_of(pid):
                kill_below(child)
            os.kill(pid, signal.SIGKILL)
        except (OSError, ProcessLookupError):
            pass

    for process in processes:
        if process.poll() is None:
            kill_below(process.pid)
        process.communicate(timeout=live.DEADLINE_S)


def profiler_of(front):
    """The profiler beside or above the command; None: there is none now."""
    for child in live.children_of(front):
        try:
            with open("/proc/%d/comm" % child, encoding="ascii") as file:
                if file.read().strip() == "pystrobe-prof" and live.state_of(child, child) != "Z":
                    return child
        except OSError:
            continue
    return None


# What the command sees

VIEW = r"""
import json, os, re
def read(name):
    with open("/proc/self/" + name) as file:
        return file.read()
volatile = "(Pid|PPid|Tgid|Ngid|NS.*|Vm.*|Rss.*|FDSize|SigQ|.*ctxt_switches):"
print(json.dumps({
    "status": [line for line in read("status").splitlines() if not re.match(volatile, line)],
    "files": {name: read(name) for name in ("limits", "cgroup", "oom_score_adj", "personality", "mountinfo")},
    "fds": sorted(os.listdir("/proc/self/fd")), "env": dict(os.environ), "nice": os.nice(0),
    "cwd": os.getcwd(), "leads": [os.getsid(0) == os.getpid(), os.getpgrp() == os.getpid()],
    "children": read("task/%d/children" % os.getpid())}))
"""


@pytest.mark.parametrize("leads", [False, True], ids=["in a job", "leading a session"])
def test_the_command_sees_what_it_sees_without_pystrobe(pystrobe, tmp_path, leads):
    def strange():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2, signal.SIGRTMIN])
        for number in (signal.SIGHUP, signal.SIGCHLD, signal.SIGTSTP):
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.umask(0o31)

    def view(words):
        with open("/dev/null", encoding="ascii") as inherited:
            done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd="/usr",
                                  pass_fds=[inherited.fileno()], start_new_session=leads, timeout=live.DEADLINE_S,
                                  env=dict(os.environ, PYTHONPATH="", ODD="a=b\nc"), preexec_fn=strange)
        assert done.stderr == ""
        return json.loads(done.stdout)

    for _ in range(20):  # others may mount something meanwhile
        before = view([PYTHON, "-c", VIEW])
        seen = view(command(pystrobe, tmp_path, PYTHON, "-c", VIEW))
        if view([PYTHON, "-c", VIEW]) == before:
            break
    assert seen == before


def test_sockets_of_a_service_manager_are_the_commands(pystrobe, tmp_path):
    words = command(pystrobe, tmp_path, "sh", "-c", 'test "$LISTEN_PID $WATCHDOG_PID" = "$$ 1"')

    done = subprocess.run(["sh", "-c", 'export LISTEN_PID=$$ WATCHDOG_PID=1; exec "$@"', "-"] + words,
                          timeout=live.DEADLINE_S)

    assert done.returncode == 0


def test_ten_megabytes_go_through_unchanged(pystrobe, tmp_path):
    data = os.urandom(10 << 20)

    done = subprocess.run(command(pystrobe, tmp_path, "cat"), input=data, capture_output=True, timeout=live.DEADLINE_S)

    assert done.stdout == data and done.stderr == b""


def test_pystrobe_does_not_hold_the_commands_pipes_open(run):
    process = run("sh", "-c", "exec >&-; read line; exit 3")

    assert process.stdout.read() == b""  # while the command still runs
    process.communicate(b"\n", live.DEADLINE_S)
    assert process.returncode == 3


def test_a_closed_standard_stream_stays_closed(pystrobe, tmp_path):
    words = command(pystrobe, tmp_path, "sh", "-c", "test ! -e /proc/self/fd/0")

    assert subprocess.run(["sh", "-c", '"$@" <&-', "-"] + words, timeout=live.DEADLINE_S).returncode == 0


# Signals

HEARS = """
import os, signal
def note(number, frame):
    os.write(1, b"%d\\n" % number)
for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, note)
os.write(1, b"ready\\n")
while True:
    signal.pause()
"""


def test_every_signal_is_passed_on(run):
    process = run(PYTHON, "-c", HEARS)
    assert process.stdout.readline() == b"ready\n"

    for number in PASSED:
        process.send_signal(number)
        assert process.stdout.readline() == b"%d\n" % number


def test_what_the_command_sends_its_own_group_comes_once(run):
    script = """
import os, signal
heard = []
signal.signal(signal.SIGUSR1, lambda number, frame: heard.append(number))
signal.signal(signal.SIGUSR2, lambda number, frame: heard.append(number))
os.kill(0, signal.SIGUSR1)
os.write(1, b"sent\\n")
while signal.SIGUSR2 not in heard:
    signal.pause()
print(len(heard), flush=True)
"""
    for leads in (False, True):
        process = run(PYTHON, "-c", script, preexec_fn=os.setsid if leads else os.setpgrp)
        assert process.stdout.readline() == b"sent\n"
        process.send_signal(signal.SIGUSR2)  # comes behind what the first may have brought
        assert process.stdout.readline() == b"2\n"


FAMILY = """
import ctypes, os, signal
name = b"command\\n" if os.fork() else b"child\\n"
if name == b"child\\n":
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
signal.signal(signal.SIGUSR1, lambda number, frame: os.write(1, name))
signal.signal(signal.SIGTERM, lambda number, frame: os._exit(0))
os.write(1, b"ready\\n")
while True:
    signal.pause()
"""


@pytest.mark.parametrize("option, hears", [([], [b"command\n"]), (["--group"], [b"child\n", b"command\n"])])
def test_signals_are_for_the_command_alone_or_for_its_group(pystrobe, tmp_path, option, hears):
    words = pystrobe.words + [pystrobe.path, "exec", "--store", str(tmp_path / "store"), *option, "--", PYTHON, "-c", FAMILY]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True)
    assert [process.stdout.readline() for _ in range(2)] == [b"ready\n"] * 2

    for _ in range(3):
        process.send_signal(signal.SIGUSR1)
        assert sorted(process.stdout.readline() for _ in hears) == hears
    process.send_signal(signal.SIGTERM)

    assert process.communicate(timeout=live.DEADLINE_S)[0] == b"" and process.returncode == 0


# The processes

DAEMONS = """
import os, sys
for _ in range(int(sys.argv[1])):
    child = os.fork()
    if child == 0:
        if os.fork() == 0:
            while os.getppid() == os.getpid():
                pass
        os._exit(0)
    os.waitpid(child, 0)
def zombies():
    found = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % pid) as file:
                state, parent = file.read().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        found += state == "Z" and int(parent) == os.getppid()
    return found
while zombies():
    pass
sys.exit(17)
"""


@pytest.mark.parametrize("count", [30, pytest.param(1000, marks=pytest.mark.long)])
def test_orphans_are_reaped(pystrobe, tmp_path, count):
    done = subprocess.run(command(pystrobe, tmp_path, PYTHON, "-c", DAEMONS, count), timeout=live.DEADLINE_S)

    assert done.returncode == 17


WAITS = """
import os, sys
print(os.getpid(), flush=True)
sys.stdin.readline()
sys.exit(33)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT])
def test_the_command_outlives_the_profiler_which_comes_back(run, number):
    process = run(PYTHON, "-c", WAITS)
    app = int(process.stdout.readline())
    first = live.wait_until(lambda: profiler_of(process.pid), "the profiler runs")

    os.kill(first, number)

    live.wait_until(lambda: profiler_of(process.pid) not in (None, first), "another profiler runs", pause_s=0.05)
    assert live.state_of(app, app) in "SR"
    _, errors = process.communicate(b"\n", live.DEADLINE_S)
    assert process.returncode == 33
    assert b"the profiler was ended by signal %d" % number in errors


def end_both_at_once(process):
    """Kills the profiler and lets the command end while the process in front sees neither; gives what that writes then."""
    app = int(process.stdout.readline())
    profiler = live.wait_until(lambda: profiler_of(process.pid), "the profiler runs")
    process.send_signal(signal.SIGSTOP)
    os.kill(profiler, signal.SIGKILL)
    live.wait_until(lambda: live.state_of(profiler, profiler) == "Z", "the profiler is dead")
    process.stdin.write(b"\n")
    process.stdin.flush()
    live.wait_until(lambda: live.state_of(app, app) == "Z", "the command has ended")
    process.send_signal(signal.SIGCONT)
    return process.communicate(timeout=live.DEADLINE_S)[1]


def test_a_profiler_that_was_killed_is_told_of_when_the_command_has_ended_too(run):
    process = run(PYTHON, "-c", WAITS)

    errors = end_both_at_once(process)

    assert process.returncode == 33
    assert b"the profiler was ended by signal 9 (Killed), and the last profiles may be lost" in errors


@pytest.mark.long
def test_a_profiler_that_hangs_holds_up_neither_the_command_nor_its_end(run):
    process = run(PYTHON, "-c", WAITS)
    process.stdout.readline()
    os.kill(live.wait_until(lambda: profiler_of(process.pid), "the profiler runs"), signal.SIGSTOP)

    _, errors = process.communicate(b"\n", live.DEADLINE_S)

    assert process.returncode == 33
    assert b"the profiler was ended by signal 9" in errors


def test_the_command_outlives_pystrobe(run):
    process = run(PYTHON, "-c", WAITS)
    app = int(process.stdout.readline())
    profiler = live.wait_until(lambda: profiler_of(process.pid), "the profiler runs")

    process.kill()
    process.wait()

    live.wait_until(lambda: not os.path.exists("/proc/%d" % profiler), "the profiler ends, too")
    assert live.state_of(app, app) in "SR"


def test_a_mistake_in_the_settings_does_not_keep_the_command_from_running(pystrobe, tmp_path):
    ini = tmp_path / "bad.ini"
    ini.write_text("[agent]\nrate = never\n")

    lenient = pystrobe.run("exec", "-c", ini, "--", "sh", "-c", "sleep 0.5; exit 5")
    strict = pystrobe.run("exec", "--strict", "-c", ini, "--", "sh", "-c", "exit 5")

    assert (lenient.returncode, strict.returncode) == (5, 78)
    assert "%s:2" % ini in lenient.stderr and "runs unprofiled" in lenient.stderr
    assert "%s:2" % ini in strict.stderr


def test_settings_come_from_the_environment_too(pystrobe, tmp_path):
    env = dict(os.environ, PYSTROBE_EXPORTER_OWN_TYPE="store", PYSTROBE_EXPORTER_OWN_PATH=str(tmp_path / "own"),
               PYSTROBE_LABELS_TEAM="blue")

    done = pystrobe.run("exec", "--store", tmp_path / "store", "-n", "burner", "--", PYTHON, "-c",
                        "import time\nwhile time.process_time() < 1: sum(range(1000))", env=env)

    assert (done.returncode, done.stderr) == (0, "")
    assert profiles.in_store(tmp_path / "own", "burner") and profiles.in_store(tmp_path / "store", "burner")


def test_without_libcurl_the_command_runs_and_a_store_does(pystrobe, tmp_path):
    hidden = live.without_library("libcurl.so.4")
    words = [*pystrobe.words, pystrobe.path, "exec"]
    burns = ["-n", "burner", "--", PYTHON, "-c", "import time\nwhile time.process_time() < 1: sum(range(1000))"]

    served = subprocess.run(hidden + words + burns, stderr=subprocess.PIPE, text=True, timeout=live.DEADLINE_S,
                            env=dict(os.environ, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:1"))
    stored = subprocess.run(hidden + words + ["--store", str(tmp_path / "store")] + burns, stderr=subprocess.PIPE,
                            text=True, timeout=live.DEADLINE_S)

    assert served.returncode == 0 and "libcurl.so.4 cannot be loaded" in served.stderr and "install libcurl4" in served.stderr
    assert (stored.returncode, stored.stderr) == (0, "")
    assert profiles.in_store(tmp_path / "store", "burner")


# Where Yama lets ancestors read only, the profiler stands above the command.

ABOVE = """
mount -t tmpfs none /proc/sys/kernel && mkdir /proc/sys/kernel/yama && echo 1 >/proc/sys/kernel/yama/ptrace_scope &&
exec setpriv --bounding-set -sys_ptrace "$@"
"""


@pytest.fixture
def run_above(pystrobe, tmp_path):
    """run_above(*words): the same, by a root without CAP_SYS_PTRACE whose kernel seems to have Yama at 1."""
    words = live.root_words() + ["unshare", "-m", "sh", "-c", ABOVE, "-"]
    if subprocess.run(words + ["true"], stderr=subprocess.DEVNULL).returncode != 0:
        live.unavailable("no mount namespace can be made here")
    running = []

    def start(*command_words):
        running.append(subprocess.Popen(words + command(pystrobe, tmp_path, *command_words), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        return running[-1]

    yield start
    end_all(running)


def test_under_yama_the_profiler_is_the_commands_parent(run_above, tmp_path):
    process = run_above(PYTHON, "-c", """
import os, sys, time
print(os.getpid(), os.getppid(), flush=True)
while time.process_time() < 1: sum(range(1000))
sys.stdin.readline()
sys.exit(34)
""")
    app, parent = map(int, process.stdout.readline().split())
    assert profiler_of(process.pid) == parent
    live.wait_until(lambda: "S" in live.state_of(app, app), "the program has done its work", pause_s=0.05)

    _, errors = process.communicate(b"\n", live.DEADLINE_S)

    assert (process.returncode, errors) == (34, b"")
    found = profiles.in_store(tmp_path / "store", os.listdir(tmp_path / "store")[0])
    assert profiles.total(found, "cpu", lambda sample: True) > 0.2e9


def test_under_yama_the_command_outlives_its_parent(run_above):
    process = run_above(PYTHON, "-c", WAITS)
    app = int(process.stdout.readline())

    os.kill(profiler_of(process.pid), signal.SIGKILL)

    live.wait_until(lambda: app in live.children_of(process.pid), "the command comes to the front")
    _, errors = process.communicate(b"\n", live.DEADLINE_S)
    assert process.returncode == 33
    assert b"the profiler was ended by signal 9" in errors


def test_under_yama_a_parent_that_was_killed_is_told_of_when_the_command_has_ended_too(run_above):
    process = run_above(PYTHON, "-c", WAITS)

    errors = end_both_at_once(process)

    assert process.returncode == 33
    assert b"the profiler was ended by signal 9" in errors


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_under_yama_signals_and_deaths_are_passed_on(run_above, number):
    process = run_above(PYTHON, "-c", WAITS)
    app = int(process.stdout.readline())

    if number == signal.SIGKILL:
        os.kill(app, number)
    else:
        process.send_signal(number)

    assert process.wait(live.DEADLINE_S) == 128 + number


def test_under_yama_orphans_are_reaped(run_above):
    process = run_above(PYTHON, "-c", DAEMONS, 30)

    assert process.wait(live.DEADLINE_S) == 17


# Terminals

class Terminal:
    """A program that leads a session on a terminal of its own, as one types to it."""

    def __init__(self, words, env=None):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                os.execvpe(words[0], words, env or os.environ)
            finally:
                os._exit(127)
        self.seen = ""

    def wait_for(self, text):
        """Reads until the text has come, and forgets what was before it."""
        deadline = time.monotonic() + live.DEADLINE_S
        while text not in self.seen:
            assert select.select([self.fd], [], [], max(0, deadline - time.monotonic()))[0], self.seen
            try:
                self.seen += os.read(self.fd, 4096).decode(errors="replace")
            except OSError:
                raise AssertionError("it ended after: %r" % self.seen)
        self.seen = self.seen.partition(text)[2]

    def type(self, text):
        os.write(self.fd, text.encode())

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def status(self):
        live.wait_until(lambda: os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT), "the program ends")
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def end(self):
        os.close(self.fd)
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass


@pytest.fixture
def terminal():
    running = []

    def start(words, **options):
        running.append(Terminal(words, **options))
        return running[-1]

    yield start
    for one in running:
        one.end()


# (Its handlers may run while it writes, where a print of theirs would be an error.)
TYPED = """
import os, signal, sys, time
def say(*words):
    os.write(1, b"%s\\n" % " ".join(map(str, words)).encode())
signal.signal(signal.SIGWINCH, lambda *_: say("now", os.get_terminal_size()))
signal.signal(signal.SIGCONT, lambda *_: say("goes", "on"))
try:
    say("foreground:", os.tcgetpgrp(0) == os.getpgrp())
    while True:
        time.sleep(1)
except KeyboardInterrupt:
    sys.exit(5)
"""


def test_on_a_terminal_of_its_own_the_command_is_in_the_foreground(pystrobe, tmp_path, terminal):
    typist = terminal(command(pystrobe, tmp_path, PYTHON, "-c", TYPED))
    typist.wait_for("foreground: True")

    typist.resize(33, 44)
    typist.wait_for("columns=44, lines=33")
    typist.type("\x1a")  # nobody could make it go on: it does by itself
    typist.type("\x03")

    assert typist.status() == 5


def test_as_a_job_of_a_shell_it_stops_and_goes_on_as_a_whole(pystrobe, tmp_path, terminal):
    script = tmp_path / "typed.py"
    script.write_text(TYPED)
    shell = terminal(["bash", "--norc", "--noprofile", "-i"], env=dict(os.environ, PS1="prompt>", TERM="dumb"))
    shell.wait_for("prompt>")

    shell.type(" ".join(command(pystrobe, tmp_path, PYTHON, script)) + "\n")
    shell.wait_for("foreground: True")
    shell.type("\x1a")
    shell.wait_for("Stopped")
    shell.wait_for("prompt>")
    shell.type("fg\n")
    shell.wait_for("goes on")
    shell.type("\x03")
    shell.wait_for("prompt>")
    shell.type("echo status:$?\n")
    shell.wait_for("status:5")


def test_a_shell_in_front_of_it_has_job_control(pystrobe, tmp_path, terminal):
    env = dict(os.environ, PS1="prompt>", TERM="dumb")
    shell = terminal(command(pystrobe, tmp_path, "bash", "--norc", "--noprofile", "-i"), env=env)
    shell.wait_for("prompt>")

    shell.type("sh -c 'echo be''gun; exec sleep 1000'\n")
    shell.wait_for("begun\r\n")
    shell.type("\x1a")
    shell.wait_for("Stopped")
    shell.wait_for("prompt>")
    shell.type("kill -KILL %1; disown -a; exit 6\n")

    assert shell.status() == 6


# Next to tini

@pytest.fixture
def tini():
    path = shutil.which("tini")
    if not path:
        pytest.fail("tini is not there: make deps")
    return [path, "-s", "--"]


@pytest.mark.parametrize("number", [number for number in PASSED if number not in
                                    (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGCONT)][::6])
def test_signals_end_it_as_they_end_tini(pystrobe, tmp_path, tini, number):
    def status(words):
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process.stdout.readline()
        process.send_signal(number)
        if number in (signal.SIGURG, signal.SIGWINCH):  # which end nothing
            process.terminate()
        process.communicate()
        return process.returncode

    script = ["sh", "-c", "echo; exec sleep 1000"]
    assert status(command(pystrobe, tmp_path, *script)) == status(tini + script)

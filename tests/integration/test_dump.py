# SPDX-License-Identifier: Apache-2.0
"""What `pystrobe dump` shows of a live program, and that --pause leaves no trace in it."""

import json
import os
import pty
import random
import re
import signal
import subprocess
import sys
import time

import pytest

import live

PAUSED_DUMPS = 200
KILLED_DUMPS = 40
THREAD_KEYS = {"tid", "name", "main", "status", "torn", "cut", "frames"}
FRAME_KEYS = {"func", "file", "line", "first_line"}
POSITION_KEYS = {"end_line", "column", "end_column"}
STATUSES = {"gil", "cpu", "gil_wait", "exception", "gc"}
DEPTH = 50  # of down() in crowd.py
STAYS_IN = {"MainThread": "main", "climber": "climb", "guest-1": "visit", "guest-2": "visit",
            "\x1b[2J handler": "handling"}

TRACER = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
print(libc.ptrace(0x4206, int(sys.argv[1]), None, None), flush=True)  # PTRACE_SEIZE
sys.stdin.read()
"""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def any_python():
    return live.load_pythons()[0][0]


def version_of(python):
    return tuple(int(part) for part in python["version"].split(".")[:2])


def dump_if_in_time(pystrobe, pid, *words):
    """`dump --json` with more words: its threads.

    None if with --pause the machine was too busy to stop the program in time, as is said then.
    """
    done = pystrobe.run("dump", "--json", "--pid", pid, *words)
    if "--pause" in words and done.returncode == 69 and "could not be stopped within" in done.stderr:
        return None
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    if "--pause" in words and "ms" in document.get("warning", ""):
        return None
    return [thread for part in document["interpreters"] for thread in part["threads"]]


def dump_until(pystrobe, pid, words, good):
    """The first dump that is `good`; what runs at one moment is chance."""
    def try_one():
        threads = dump_if_in_time(pystrobe, pid, *words)
        return [threads] if threads is not None and good(threads) else []

    return live.wait_until(try_one, "a dump that is good")[0]


def dump(pystrobe, pid, *words):
    return dump_until(pystrobe, pid, words, lambda threads: True)


def by_name(threads):
    return {thread["name"]: thread for thread in threads}


def text_of(pystrobe, pid, *words, env=None):
    done = pystrobe.run("dump", "--pid", pid, *words, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


def funcs_of(thread):
    return [frame["func"] for frame in thread["frames"]]


def thread_states(pid):
    """The kernel's letters for the threads of a process."""
    return {live.state_of(pid, tid) for tid in live.tids_of(pid)}


def tracer_of(pid):
    with open("/proc/%d/status" % pid, encoding="utf-8") as file:
        return int(re.search(r"^TracerPid:\s*(\d+)", file.read(), re.MULTILINE).group(1))


def assert_runs_on(pid):
    live.wait_until(lambda: not {"t", "T"} & thread_states(pid) and not tracer_of(pid), "it runs on")


def all_are_there(threads):
    """True once each thread of crowd.py is in the function that it stays in."""
    functions = {thread["name"]: funcs_of(thread) for thread in threads}
    return all(function in functions.get(name, []) for name, function in STAYS_IN.items())


@pytest.fixture
def crowd_of(pystrobe, start):
    """crowd_of(python) runs crowd.py until all is as it says; gives what it printed."""
    def run(python):
        own = start(python, "crowd.py").read_json()
        threads = by_name(dump_until(pystrobe, own["pid"], [], all_are_there))
        live.wait_until_asleep(own["pid"], [threads[name]["tid"] for name in ("MainThread", "\x1b[2J handler")])
        return own

    return run


@pytest.fixture
def crowd(crowd_of):
    """The pid of crowd.py under any Python."""
    return crowd_of(any_python())["pid"]


# What it prints.


@pytest.mark.parametrize("words, more", [([], set()), (["--positions"], POSITION_KEYS), (["--opcodes"], {"opcode"}),
                                         (["--positions", "--opcodes", "--pause"], POSITION_KEYS | {"opcode"})])
@pytest.mark.few
def test_the_json_has_the_keys_that_are_asked_for(python, pystrobe, crowd_of, words, more):
    pid = crowd_of(python)["pid"]

    threads = dump_until(pystrobe, pid, words, lambda threads: not any(thread["torn"] for thread in threads))

    assert len(threads) == 5
    for thread in threads:
        assert set(thread) == THREAD_KEYS
        assert set(thread["status"]) <= STATUSES
        assert thread["frames"]
        for frame in thread["frames"]:
            assert set(frame) == FRAME_KEYS | more
            for key in FRAME_KEYS | more - {"func", "file", "opcode"}:
                assert frame[key] is None or isinstance(frame[key], (int, str)), key
            assert "opcode" not in more or frame["opcode"].isupper()


def test_a_frame_has_its_columns_where_the_version_keeps_them(python, pystrobe, crowd_of):
    pid = crowd_of(python)["pid"]

    threads = dump(pystrobe, pid, "--positions", "--threads", "main")

    (read,) = [frame for frame in threads[0]["frames"] if frame["func"] == "main"]
    places = (read["line"] == read["end_line"], read["column"], read["end_column"])
    assert places == ((True, 11, 27) if version_of(python) >= (3, 11) else (False, None, None))


def test_the_text_shows_source_lines_and_marks_what_runs(python, pystrobe, crowd_of):
    own = crowd_of(python)

    text = text_of(pystrobe, own["pid"], "--positions", "--source", "--threads", "main")

    marked = version_of(python) >= (3, 11)
    line = re.escape(own["file"]) + (r":\d+:11" if marked else r":\d+") + " in main\n"
    source = r" {8}while os\.read\(0, 4096\):\n"
    assert re.search("    " + line + source + (r" {14}\^{16}\n" if marked else "    /"), text), text
    assert re.match(r"Process %d: .*\nPython %s\n\nThread %d \"MainThread\" \(main" %
                    (own["pid"], re.escape(python["version"]), own["pid"]), text), text


def test_source_lines_can_be_left_out(pystrobe, crowd):
    assert "while os.read" in text_of(pystrobe, crowd, "--long")
    assert "while os.read" not in text_of(pystrobe, crowd, "--long", "--no-source")
    assert "while os.read" not in text_of(pystrobe, crowd)


def test_it_is_short_unless_asked_for_more(pystrobe, start):
    code = ("import threading\n"
            "wait = threading.Event().wait\n"
            "for number in range(5):\n"
            "    threading.Thread(target=wait, name='waits', daemon=True).start()\n"
            "print(flush=True)\n"
            "wait()\n")
    target = live.Target(["/usr/bin/python3", "-c", code])
    try:
        target.process.stdout.readline()
        live.wait_until_asleep(target.pid, live.tids_of(target.pid))
        short, whole = text_of(pystrobe, target.pid), text_of(pystrobe, target.pid, "--long")
    finally:
        target.stop()

    assert re.search(r'\A.*\n.*\n\nThread %d "MainThread" \(main, idle\)\n' % target.pid, short), short
    assert len(re.findall(r'^5 threads: \d+ "waits", \d+ "waits", \d+ "waits", \.\.\. \(idle\)$', short, re.M)) == 1, short
    assert len(re.findall(r'^Thread \d+ "waits" \(idle\)$', whole, re.M)) == 5, whole


def test_no_line_of_a_file_that_is_newer_than_the_process_is_shown(pystrobe, tmp_path):
    file = tmp_path / "app.py"
    file.write_text("import sys\nprint(flush=True)\nsys.stdin.read()\n")
    target = live.Target(["/usr/bin/python3", str(file)])
    try:
        target.process.stdout.readline()
        live.wait_until_asleep(target.pid, [target.pid])
        before = text_of(pystrobe, target.pid, "--source")
        time.sleep(0.2)  # a file's time is not exact
        file.write_text("import sys\nprint(flush=True)\nraise SystemExit('never ran')\n")
        after = text_of(pystrobe, target.pid, "--source")
    finally:
        target.stop()

    place = "    %s:3 in <module>\n        " % file
    assert place + "sys.stdin.read()\n" in before
    assert place + "(no line: the file is newer than the process)\n" in after and "never ran" not in after


def test_a_name_cannot_drive_the_terminal(python, pystrobe, crowd_of):
    pid = crowd_of(python)["pid"]

    text = text_of(pystrobe, pid)

    assert '"\\x1b[2J handler"' in text
    assert "\x1b" not in text
    assert "\x1b[2J handler" in by_name(dump(pystrobe, pid))


def on_terminal(pystrobe, pid, *words, **env):
    """What dump prints to a terminal."""
    ours, theirs = pty.openpty()
    environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "TERM")}
    process = pystrobe.start("dump", "--pid", pid, *words, stdin=subprocess.DEVNULL, stdout=theirs,
                             env=dict(environment, **env))
    os.close(theirs)
    output = b""
    try:
        while True:
            output += os.read(ours, 65536)
    except OSError:  # EIO: the other side is closed
        pass
    os.close(ours)
    assert process.wait(live.DEADLINE_S) == 0
    return output.decode()


@pytest.mark.parametrize("words, env, colour", [
    ([], {"TERM": "xterm"}, True), ([], {"TERM": "xterm", "NO_COLOR": ""}, True), ([], {"TERM": "dumb"}, False),
    ([], {"TERM": "xterm", "NO_COLOR": "1"}, False), (["--color=always"], {"NO_COLOR": "1"}, True),
    (["--color", "never"], {"TERM": "xterm"}, False), (["--color=auto"], {"TERM": "xterm"}, True),
])
def test_a_terminal_gets_colours_unless_told_otherwise(pystrobe, crowd, words, env, colour):
    output = on_terminal(pystrobe, crowd, *words, **env)

    assert "MainThread" in output
    assert ("\x1b[" in output) == colour


def test_a_pipe_gets_colours_only_when_asked_for(pystrobe, crowd):
    assert "\x1b" not in text_of(pystrobe, crowd)
    assert "\x1b[1mThread" in text_of(pystrobe, crowd, "--color=always")


@needs_root
def test_no_line_is_shown_that_the_program_could_not_read(pystrobe, open_folder):
    """A program that names other people's files must not have root print them."""
    secret, public = open_folder / "secret", open_folder / "public"
    secret.write_text("the root password\n")
    secret.chmod(0o600)
    public.write_text("known to everyone\n")
    public.chmod(0o644)
    code = ("import sys\n"
            "names = {'wait': lambda: (print('{}', flush=True), sys.stdin.read())}\n"
            "exec(compile('wait()', sys.argv[2], 'exec'), {'wait': lambda: "
            "exec(compile('wait()', sys.argv[1], 'exec'), names)})\n")
    target = live.Target(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                          "/usr/bin/python3", "-c", code, str(secret), str(public)])
    try:
        target.read_json()
        text = text_of(pystrobe, target.pid, "--source")
    finally:
        target.stop()

    assert str(secret) + ":1 in <module>" in text
    assert "known to everyone" in text
    assert "the root password" not in text


# Which threads.


def test_threads_selects_the_main_thread(python, pystrobe, crowd_of):
    pid = crowd_of(python)["pid"]

    threads = dump(pystrobe, pid, "--threads", "main")

    assert [(thread["name"], thread["main"]) for thread in threads] == [("MainThread", True)]


@pytest.mark.parametrize("words", [["--threads", "gil"], ["--mode", "gil"], ["-t", "gil", "--pause"]])
@pytest.mark.few
def test_threads_and_mode_select_the_holder_of_the_gil(python, pystrobe, crowd_of, words):
    pid = crowd_of(python)["pid"]

    threads = dump_until(pystrobe, pid, words, lambda threads: threads)

    assert len(threads) == 1
    assert "gil" in threads[0]["status"]
    assert threads[0]["name"] in ("climber", "guest-1", "guest-2")


def test_mode_exception_selects_who_handles_one(python, pystrobe, crowd_of):
    pid = crowd_of(python)["pid"]

    threads = dump(pystrobe, pid, "--mode", "exception")

    assert [thread["name"] for thread in threads] == ["\x1b[2J handler"]
    assert threads[0]["status"] == ["exception"]
    assert funcs_of(threads[0])[0] == "handling"


@pytest.mark.parametrize("words", [["--mode", "cpu"], ["--mode", "cpu", "--pause"]])
@pytest.mark.few
def test_mode_cpu_selects_what_runs(python, pystrobe, crowd_of, words):
    pid = crowd_of(python)["pid"]

    threads = dump_until(pystrobe, pid, words, lambda threads: threads)

    assert set(by_name(threads)) <= {"climber", "guest-1", "guest-2"}
    assert all("cpu" in thread["status"] for thread in threads)


def test_a_selection_that_nothing_fits_is_empty(pystrobe, crowd):
    assert dump(pystrobe, crowd, "--threads", "main", "--mode", "exception") == []
    assert "No thread" in text_of(pystrobe, crowd, "--threads", "main", "--mode", "exception")


@pytest.mark.parametrize("words", [["--threads", "some"], ["--mode", "x"], ["--color", "maybe"], ["--color"], ["-t"]])
def test_wrong_words_are_usage_errors_that_say_the_right_ones(pystrobe, words):
    done = pystrobe.run("dump", "--pid", os.getpid(), *words)

    assert done.returncode == 64
    assert not done.stdout
    assert "one of" in done.stderr or "--help" in done.stderr


# --pause.


def own_frames(thread):
    """The functions of crowd.py on a stack, outermost first."""
    return [frame["func"] for frame in reversed(thread["frames"]) if frame["file"].endswith("crowd.py")]


@pytest.mark.few
def test_a_paused_program_is_seen_at_one_moment(python, pystrobe, start):
    """Stacks are whole, and what never happens at the same time is never seen at the same time."""
    target = start(python, "crowd.py")
    pid = target.read_json()["pid"]
    climbs, inside = set(), 0

    dump_until(pystrobe, pid, [], all_are_there)
    for _ in range(PAUSED_DUMPS):
        threads = by_name(dump(pystrobe, pid, "--pause"))
        assert len(threads) == 5
        assert not any(thread["torn"] or thread["cut"] for thread in threads.values())
        climb = own_frames(threads["climber"])
        assert climb[0] == "climb" and set(climb[1:]) <= {"down"} and len(climb) <= DEPTH + 2
        climbs.add(len(climb))
        guests = [own_frames(threads[name]) for name in ("guest-1", "guest-2")]
        assert all(guest in (["visit"], ["visit", "inside"]) for guest in guests), guests
        assert guests.count(["visit", "inside"]) <= 1, "two guests in a room for one"
        inside += guests.count(["visit", "inside"])
        assert sum("gil" in thread["status"] for thread in threads.values()) <= 1

    assert len(climbs) > 1 and inside > 0, "it stood still all the time"
    assert_runs_on(pid)
    assert target.end() == 0, "the program was harmed"


PARENT = """
import json, os, signal, subprocess, sys, time
seen = []
signal.signal(signal.SIGCHLD, lambda *_: seen.append(os.waitid(os.P_ALL, 0, os.WSTOPPED | os.WCONTINUED | os.WNOHANG)))
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
sys.stdout.buffer.write(child.stdout.readline())
sys.stdout.flush()
sys.stdin.buffer.read()
while not seen:
    time.sleep(0.01)
print(json.dumps(len(seen)), flush=True)
child.kill()
"""


def test_the_parent_of_a_paused_program_sees_nothing(pystrobe):
    words = live.command_of(any_python(), "crowd.py")
    parent = live.Target([sys.executable, "-c", PARENT] + words)
    try:
        pid = parent.read_json()["pid"]
        for _ in range(20):
            dump(pystrobe, pid, "--pause")
        os.kill(pid, signal.SIGSTOP)  # so that it is known that such a thing would be seen
        live.wait_until(lambda: thread_states(pid) == {"T"}, "it stops")
        parent.process.stdin.close()
        assert parent.read_json() == 1
    finally:
        parent.stop()


def test_killing_pystrobe_leaves_the_program_running(pystrobe, crowd):
    for _ in range(KILLED_DUMPS):
        process = subprocess.Popen([pystrobe.path, "dump", "--pause", "--pid", str(crowd)],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(random.uniform(0, 0.015))
        process.kill()
        process.wait()
        assert_runs_on(crowd)

    depths = set()

    def moves():
        climber = by_name(dump(pystrobe, crowd))["climber"]
        depths.update([] if climber["torn"] else [len(own_frames(climber))])
        return len(depths) > 1

    live.wait_until(moves, "it climbs on")


def test_what_is_traced_already_is_refused(pystrobe, crowd):
    tracer = subprocess.Popen([sys.executable, "-c", TRACER, str(crowd)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)
    try:
        assert tracer.stdout.readline() == b"0\n"
        done = pystrobe.run("dump", "--pause", "--pid", crowd)
    finally:
        tracer.communicate(b"")

    assert done.returncode == 69
    assert "process %d traces it already" % tracer.pid in done.stderr
    assert not done.stdout
    assert_runs_on(crowd)

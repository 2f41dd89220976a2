# SPDX-License-Identifier: Apache-2.0
"""`pystrobe dump` must say, frame by frame, what a program says of itself."""

import os
import shutil
import signal
import time

import pytest

import live

REPEATS = 20
WARMTHS = [0, 100]  # runs before it stands still: as compiled, and specialised by the interpreter
MONITORED = ["LINE", "INSTRUCTION", "LINE,INSTRUCTION"]


def version_of(python):
    return tuple(int(part) for part in python["version"].split(".")[:2])


def threads_of(document):
    """{tid: thread} without the threads that the program leaves out of its own view."""
    ignored = set(document.get("ignore", []))
    return {
        thread["tid"]: thread
        for interpreter in document["interpreters"]
        for thread in interpreter["threads"]
        if thread["tid"] not in ignored
    }


def lines_of(thread):
    """The frames as text, for a difference one can read."""
    return ["%(func)s %(file)s:%(line)s (from %(first_line)s)" % frame for frame in thread["frames"]]


def opcodes_of(document):
    """{tid: its functions, each with the instruction that it is at}."""
    return {tid: ["%(func)s: %(opcode)s" % frame for frame in thread["frames"]]
            for tid, thread in threads_of(document).items()}


def seen_from_outside(pystrobe, own, *words):
    """The same threads as `own` has, read by pystrobe."""
    seen = pystrobe.dump(own["pid"], *words)
    seen["ignore"] = own["ignore"]
    return seen


def assert_same_frames(own, seen):
    own_threads, seen_threads = threads_of(own), threads_of(seen)
    assert sorted(seen_threads) == sorted(own_threads), "thread ids"
    for tid, thread in own_threads.items():
        assert lines_of(seen_threads[tid]) == lines_of(thread), "frames of %s" % thread["name"]


@pytest.mark.parametrize("warm", WARMTHS)
def test_dump_equals_the_programs_own_frames(python, pystrobe, start, warm):
    target = start(python, "frames.py", "--warm", warm)
    own = target.read_json()

    for _ in range(REPEATS):
        assert_same_frames(own, seen_from_outside(pystrobe, own))

    assert target.end() == 0, "the program was harmed"


@pytest.mark.parametrize("warm", WARMTHS)
def test_opcodes_are_those_that_stand_in_the_programs_code(python, pystrobe, start, warm):
    own = start(python, "frames.py", "--warm", warm).read_json()

    assert opcodes_of(seen_from_outside(pystrobe, own, "--opcodes")) == opcodes_of(own)


@pytest.mark.parametrize("events", MONITORED)
def test_opcodes_of_code_that_a_debugger_watches_are_those_that_stand_there(python, pystrobe, start, events):
    if version_of(python) < (3, 12):
        pytest.skip("sys.monitoring came with 3.12")
    own = start(python, "frames.py", "--warm", "3", "--monitor", events).read_json()

    seen = opcodes_of(seen_from_outside(pystrobe, own, "--opcodes"))

    assert seen == opcodes_of(own)
    assert "INSTRUMENTED_" in str(seen)


def test_dump_names_each_thread_and_marks_the_main_one(python, pystrobe, start):
    own = start(python, "frames.py").read_json()

    seen = seen_from_outside(pystrobe, own)

    wanted = {tid: (thread["name"], thread["main"]) for tid, thread in threads_of(own).items()}
    assert {tid: (thread["name"], thread["main"]) for tid, thread in threads_of(seen).items()} == wanted


def test_dump_says_which_process_and_python_it_read_and_when(python, pystrobe, start):
    own = start(python, "frames.py").read_json()

    seen = seen_from_outside(pystrobe, own)

    for key in ("pid", "python", "free_threaded"):
        assert seen[key] == own[key], key
    assert abs(seen["taken_unix_ns"] - time.time_ns()) < 60 * 10**9
    assert len(seen["interpreters"]) == 1


def test_a_thread_that_waits_is_not_said_to_hold_the_gil(python, pystrobe, start):
    own = start(python, "frames.py").read_json()

    seen = seen_from_outside(pystrobe, own)

    for thread in threads_of(seen).values():
        assert "gil" not in thread["status"], thread["name"]


def test_dump_as_text_shows_every_thread_and_function(python, pystrobe, start):
    own = start(python, "frames.py").read_json()

    done = pystrobe.run("dump", "--long", "--pid", own["pid"])

    assert done.returncode == 0, done.stderr
    for thread in threads_of(own).values():
        assert str(thread["tid"]) in done.stdout
        for frame in thread["frames"]:
            assert frame["func"] in done.stdout
    assert "Wörker-π ☃" in done.stdout


@pytest.fixture
def doomed(python, tmp_path):
    """A copy of the interpreter that the test may delete: (path, environment, how to delete it)."""
    if os.geteuid() != 0 and python["root"]:
        pytest.skip("only root may copy a file into a root")
    folder = "%s/copy-%d" % (live.INSIDE, os.getpid()) if python["root"] else str(tmp_path / "copy")
    path, env = live.copy_of(python, folder)
    yield path, env, lambda: shutil.rmtree(python["root"] + folder)
    shutil.rmtree(python["root"] + folder, ignore_errors=True)


def test_dump_reads_a_program_whose_interpreter_was_deleted(python, pystrobe, doomed):
    path, env, delete = doomed
    target = live.Target(live.command_of(dict(python, inner=path), "frames.py"), env)
    try:
        own = target.read_json()
        delete()

        assert_same_frames(own, seen_from_outside(pystrobe, own))
    finally:
        target.stop()


def test_sees_a_frame_without_variables_and_stack(python, pystrobe, start):
    target = start(python, "nothing.py")
    pid = target.read_json()["pid"]

    def is_seen():
        threads = [thread for one in pystrobe.dump(pid)["interpreters"] for thread in one["threads"]]
        files = [[frame["file"] for frame in thread["frames"] or []] for thread in threads]
        return files and files[0][:1] == ["<string>"]

    live.wait_until(is_seen, "its frame is seen")
    os.kill(pid, signal.SIGKILL)  # it does not look at its input

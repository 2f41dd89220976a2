# SPDX-License-Identifier: Apache-2.0
"""A process that executes another program while it is asked about: nothing of that one is shown.

`dump` is held at a system call by a tracer, so that the order of events is the same on every machine.
"""

import os
import re
import shutil

import pytest

import live
import pages
from doctors import NOBODY, PYTHON, needs_root
from held import Held, looks_once_more, reads_memory

# Sleeps in a function of its own until it gets a line, and executes its arguments then.
TARGET = ("import os, sys\n"
          "def first_program():\n"
          "    print('{}', flush=True)\n"
          "    sys.stdin.readline()\n"
          "    os.execv(sys.argv[1], sys.argv[1:])\n"
          "first_program()\n")
NEXT = ("import sys\n"
        "def next_program():\n"
        "    print('{}', flush=True)\n"
        "    sys.stdin.readline()\n"
        "next_program()\n")


def effective_user(pid):
    with open("/proc/%d/status" % pid, encoding="utf-8") as file:
        return int([line for line in file if line.startswith("Uid:")][0].split()[2])


@pytest.fixture
def scripts(tmp_path):
    """Files that have the programs, by name."""
    for name, text in (("first", TARGET), ("next", NEXT)):
        (tmp_path / (name + ".py")).write_text(text)
    return {name: str(tmp_path / (name + ".py")) for name in ("first", "next")}


@pytest.fixture
def setuid(open_folder):
    """A program of root's that runs as root whoever starts it."""
    program = shutil.copy(shutil.which("sleep"), open_folder / "sleeper")
    os.chmod(program, 0o4755)
    return program


@pytest.fixture
def target():
    """target(words) runs TARGET as nobody; it executes these words when it gets a line."""
    running = []

    def run(*words):
        running.append(live.Target([*NOBODY, PYTHON, "-c", TARGET, *map(str, words)]))
        running[-1].read_json()
        return running[-1]

    yield run
    for one in running:
        one.stop()


@needs_root
@pytest.mark.parametrize("moment, words", [
    (reads_memory, []), (reads_memory, ["--json"]), (reads_memory, ["--async", "all"]),
    (looks_once_more, []), (looks_once_more, ["--json"])])
def test_dump_shows_nothing_of_a_process_that_executes_a_setuid_program(pystrobe, target, setuid, moment, words):
    one = target(setuid, "1000")
    dump = Held([*pystrobe.words, pystrobe.path, "dump", *words, "--pid", one.pid])
    dump.hold(moment)

    one.process.stdin.write(b"\n")
    one.process.stdin.flush()
    live.wait_until(lambda: os.readlink("/proc/%d/exe" % one.pid) == str(setuid), "it runs the other program")
    if effective_user(one.pid) != 0:
        live.unavailable("setuid programs have no effect there")
    status, out, err = dump.finish()

    assert (status, out) == (69, "")
    assert err == "pystrobe: process %d has executed another program meanwhile: nothing of it is shown\n" % one.pid


def test_dump_refuses_a_process_that_is_not_the_one_that_is_meant(pystrobe, start, scripts):
    one = start(pages.PYTHON, scripts["first"], "/bin/true")
    one.read_json()

    done = pystrobe.run("dump", "--pid", one.pid, "--program", "1:2")

    assert (done.returncode, done.stdout) == (69, "") and "nothing of it is shown" in done.stderr
    assert pystrobe.run("dump", "--pid", one.pid, "--program", "none").returncode == 64
    assert "in first_program\n" in pystrobe.run("dump", "--pid", one.pid).stdout


def test_a_pull_shows_nothing_of_the_program_that_a_target_executes(agent, start, scripts, tmp_path):
    one = start(pages.PYTHON, scripts["first"], PYTHON, scripts["next"])
    one.read_json()
    port = pages.free_port()
    ini = pages.ini_of(tmp_path, "127.0.0.1:%d" % port)
    ini = re.sub("scan = .*", "scan = 1h", re.sub("cmdline = .*", "cmdline = " + re.escape(scripts["first"]), ini))
    agent(ini).wait_for([one.pid])
    pages.wait_until_ready(port)
    assert "in first_program" in pages.ask(port, "/debug/stacks?pid=%d" % one.pid)[1].decode()
    assert "first_program" in pages.ask(port, "/api/threads?pid=%d" % one.pid)[1].decode()

    one.process.stdin.write(b"\n")
    one.process.stdin.flush()
    one.read_json()
    for path in ("/debug/stacks", "/api/threads"):
        _, body, _ = pages.ask(port, "%s?pid=%d" % (path, one.pid))
        assert b"next_program" not in body, path

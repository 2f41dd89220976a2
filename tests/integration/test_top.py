# SPDX-License-Identifier: Apache-2.0
"""pystrobe top on a terminal: what it shows of live programs, its keys, and how it leaves."""

import os
import re
import signal
import subprocess
import time

import pytest

import live
import terminal

PYTHON = live.load_pythons()[0][0]
NEW_PYTHON = live.load_pythons()[0][-1]
HEAD = 4  # rows over the list
SIGNALLED = {"TERM": signal.SIGTERM, "HUP": signal.SIGHUP, "QUIT": signal.SIGQUIT}


@pytest.fixture
def tty(tmp_path):
    """tty(...) is a Terminal that ends with the test."""
    opened = []

    def open_one(**options):
        opened.append(terminal.Terminal(tmp_path, **options))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()


@pytest.fixture
def busy(start):
    return start(PYTHON, "busy.py", "--threads", 2)


def top(pystrobe, tty, pid, *words):
    """Starts it, and waits for the first rows; gives the file of its status."""
    status = tty.start(pystrobe.words + [pystrobe.path, "top", "-d", "0.2", "--pid", pid] + list(words))
    tty.wait(lambda rows: len(rows) > HEAD and re.match(r" +\d+\.\d ", rows[HEAD]), "the list is there")
    return status


def paused(screen):
    """The rows, which do not change any more."""
    screen.press("Space")
    screen.wait_row(0, "PAUSED")
    return screen.settled()


def shares(row):
    return [float(number) for number in row.split()[:2]]


@pytest.mark.few
def test_the_function_that_runs_most_is_on_top(python, pystrobe, start, tty):
    pid = start(python, "busy.py", "--shares", "burn_most:90,burn_little:10").read_json()["pid"]
    screen = tty()

    top(pystrobe, screen, pid)

    screen.wait_row(HEAD, "burn_most")
    rows = paused(screen)
    own, total = shares(rows[HEAD])
    assert own <= total
    assert "process %d" % pid in rows[0] and "Python " + python["version"].split("+")[0] in rows[0]
    assert re.match(r"CPU \d+\.\d%  pystrobe \d+\.\d%  .* of 100 Hz  torn \d+\.\d%  \d+ thread", rows[1])
    assert rows[2].startswith("functions by own cpu time, % of the last ")
    with open("/proc/%d/maps" % terminal.pid_of(screen.folder / "status-1"), encoding="utf-8") as maps:
        assert "libncursesw" in maps.read()


def test_keys_filter_sort_and_choose_what_is_listed(pystrobe, busy, tty):
    screen = tty()
    top(pystrobe, screen, busy.read_json()["pid"])

    screen.press("/")
    screen.type("burn_some")
    screen.wait_row(23, "filter: burn_some")
    screen.press("Enter")
    screen.wait_row(2, "filter: burn_some")
    screen.wait(lambda rows: "burn_some" in rows[HEAD] and rows[HEAD + 1] == "", "nothing but that")
    screen.press("Escape")
    screen.wait(lambda rows: "filter" not in rows[2], "the filter is gone")

    screen.press("t")
    screen.wait_row(2, "by total cpu time")
    screen.wait(lambda rows: re.search(" (run|_bootstrap|_bootstrap_inner) ", rows[HEAD]), "a root of all comes first")
    screen.press("w")
    screen.wait_row(2, "by total wall time")
    screen.press("g")
    screen.wait_row(2, "by total gil time")

    screen.press("c", "o", "l")
    screen.wait_row(2, "lines by own cpu time")
    screen.wait(lambda rows: re.search(r"\.py:\d+$", rows[HEAD]), "a line of a file")
    screen.press("T")
    screen.wait_row(2, "threads by cpu time")
    screen.wait(lambda rows: re.search(r"(runs|sleeps) .* burner-[01]: ", rows[HEAD]), "a thread that burns")
    screen.wait(lambda rows: any("MainThread: " in row for row in rows), "one that waits")
    screen.press("?")
    screen.wait_row(1, "the keys")


def test_a_function_is_opened_into_its_lines(pystrobe, busy, tty):
    screen = tty()
    top(pystrobe, screen, busy.read_json()["pid"])
    screen.press("/")
    screen.type("burn_most")
    screen.press("Enter")
    screen.wait_row(HEAD, "burn_most")

    screen.press("Enter")

    screen.wait_row(2, "lines of burn_most")
    lines = [row for row in paused(screen)[HEAD:-1] if row]
    assert lines and all(re.search(r" burn_most +\S*busy\.py:\d+$", row) for row in lines)
    screen.press("Escape")
    screen.wait_row(2, "functions by")


def test_what_is_paused_stands_still(pystrobe, busy, tty):
    screen = tty()
    top(pystrobe, screen, busy.read_json()["pid"])

    before = paused(screen)
    time.sleep(1)
    assert screen.screen() == before
    screen.press("t")  # it can be sorted meanwhile
    screen.wait_row(2, "by total")
    screen.press("Space")

    screen.wait(lambda rows: "PAUSED" not in rows[0] and rows[HEAD] != before[HEAD], "it goes on")


def test_every_size_is_filled(pystrobe, busy, tty):
    screen = tty()
    status = top(pystrobe, screen, busy.read_json()["pid"])

    for width, height in [(60, 15), (200, 50), (20, 5), (1, 1), (80, 24)]:
        screen.resize(width, height)
        if height < 15:
            continue  # it is survived
        screen.wait(lambda rows: len(rows) == height and rows[-1].startswith("q quit") and
                    rows[0].startswith("busy") and rows[3].startswith("   OWN% TOTAL%") and
                    ("FILE:LINE" in rows[3]) == (width >= 80), "%d rows" % height)
    screen.press("q")
    assert terminal.read_status(status) == 0


@pytest.mark.parametrize("way", ["q", "C-c", "TERM", "HUP", "QUIT", "SEGV", "suspended"])
def test_the_terminal_is_left_as_it_was(pystrobe, busy, tty, way):
    if way == "SEGV" and live.SANITIZED:
        pytest.skip("a sanitizer handles that itself")
    screen = tty()
    before = screen.settings()
    status = top(pystrobe, screen, busy.read_json()["pid"])
    pid = terminal.pid_of(status)
    assert screen.flag("alternate_on") == "1" and screen.settings() != before

    if way in ("q", "C-c"):
        screen.press(way)
    elif way == "suspended":
        screen.press("C-z")
        live.wait_until(lambda: screen.flag("alternate_on") == "0", "it is stopped")
        live.wait_until(lambda: live.state_of(pid, pid) == "T", "it is stopped")
        assert screen.settings() == before
        assert terminal.read_status(status) == 128 + signal.SIGSTOP  # the shell takes it for an end
        status.unlink()
        screen.type("fg; echo $? >%s" % status)
        screen.press("Enter")
        screen.wait_row(2, "functions by")
        screen.press("q")
    else:
        os.kill(pid, SIGNALLED.get(way, signal.SIGSEGV))

    assert terminal.read_status(status) == (128 + signal.SIGSEGV if way == "SEGV" else 0)
    live.wait_until(lambda: screen.settings() == before, "the terminal is as it was")
    assert screen.flag("alternate_on") == "0" and screen.flag("cursor_flag") == "1"
    assert not any("OWN%" in row for row in screen.screen())


@pytest.mark.long
def test_long_a_target_that_blocks_its_reader_leaves_the_terminal_free(pystrobe, start, tty):
    said = start(NEW_PYTHON, "stall.py", 3).read_json()
    if "skip" in said:
        pytest.skip(said["skip"])
    screen = tty()
    before = screen.settings()

    status = screen.start(pystrobe.words + [pystrobe.path, "top", "-d", "0.2", "--pid", said["pid"]])

    assert terminal.read_status(status) == 69
    live.wait_until(lambda: screen.settings() == before, "the terminal is as it was")
    assert screen.flag("alternate_on") == "0"
    screen.wait(lambda rows: any("blocks its readers" in row for row in rows), "it says why")


def test_what_was_seen_stays_when_the_target_dies(pystrobe, busy, tty):
    screen = tty()
    status = top(pystrobe, screen, busy.read_json()["pid"])
    screen.wait(lambda rows: "burn_" in rows[HEAD], "it was seen")

    busy.end()

    screen.wait_row(0, "ENDED")
    assert any("burn_" in row for row in screen.settled()[HEAD:])
    screen.press("t")
    screen.wait_row(2, "by total")
    screen.press("q")
    assert terminal.read_status(status) == 0


def test_names_cannot_drive_the_terminal(pystrobe, start, tty):
    pid = start(NEW_PYTHON, "disguises.py").read_json()["pid"]
    shown = ["\\x1b[2J\\x1b[31mred", "\\u009b31m\\x07bell", "right\\u202etfel", "日本語", "new\\x0aline\\x09tab",
             "e\u0301\u0301", "longlong", "\U0001f40d\U0001f40d"]
    screen = tty(width=100)
    top(pystrobe, screen, pid)

    screen.wait(lambda rows: all(name in "\n".join(rows) for name in shown), "all of them were seen")

    rows = paused(screen)
    assert "process %d" % pid in rows[0] and rows[23].startswith("q quit"), "something was obeyed"
    assert [row for row in rows[HEAD:HEAD + 8] if not re.match(r" +\d+\.\d", row)] == []
    screen.press("T")
    screen.wait(lambda rows: any("\\x1b[2J\\x1b[31mred: " in row for row in rows), "a thread of such a name")


@pytest.mark.parametrize("no_colour", ["", "1"])
def test_colours_can_be_refused(pystrobe, busy, tty, no_colour):
    screen = tty(NO_COLOR=no_colour)

    top(pystrobe, screen, busy.read_json()["pid"])

    painted = "\n".join(screen.screen("-e"))
    assert bool(re.search(r"\x1b\[([0-9]+;)*[34][0-7][;m]", painted)) == (not no_colour)


def test_plain_text_needs_no_terminal(pystrobe, busy):
    done = pystrobe.run("top", "-n", 2, "-d", "0.5", "--pid", busy.read_json()["pid"])

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("OWN% TOTAL%") == 2 and "burn_most" in done.stdout
    assert "\x1b" not in done.stdout and "q quit" not in done.stdout


def test_without_a_terminal_it_says_what_to_do(pystrobe, busy):
    done = pystrobe.run("top", "--pid", busy.read_json()["pid"])

    assert done.returncode == 64 and not done.stdout
    assert "-N 1" in done.stderr and "record" in done.stderr and "report" in done.stderr


def test_a_terminal_that_nobody_knows_is_refused(pystrobe, busy, tty):
    screen = tty()

    status = screen.start(["env", "TERM=no-such-terminal"] + pystrobe.words +
                          [pystrobe.path, "top", "-d", "0.2", "--pid", busy.read_json()["pid"]])

    assert terminal.read_status(status) == 1
    screen.wait(lambda rows: any("no-such-terminal" in row for row in rows), "it says so")


def test_without_ncurses_it_says_what_to_install(pystrobe, busy, tty):
    screen = tty(width=240)

    status = screen.start(live.without_library("libncursesw.so.6") + pystrobe.words +
                          [pystrobe.path, "top", "--pid", busy.read_json()["pid"]])

    assert terminal.read_status(status) == 1
    screen.wait(lambda rows: any("libncursesw.so.6 cannot be loaded" in row and "install libncursesw6" in row
                                 for row in rows), "it says so")


def test_what_cannot_be_sampled_never_takes_the_terminal(pystrobe, tty):
    screen = tty()
    sleeper = subprocess.Popen(["sleep", "1000"])
    try:
        status = screen.start(pystrobe.words + [pystrobe.path, "top", "--pid", sleeper.pid])
        assert terminal.read_status(status) == 69
    finally:
        sleeper.kill()
        sleeper.wait()
    screen.wait(lambda rows: any("runs no CPython" in row for row in rows), "it says so")


def test_a_command_is_shown_and_its_status_passed_on(pystrobe, tty):
    code = ("import sys, time\nsys.stdout.write('in the way')\ndef burn():\n"
            " while time.process_time() < 1.5: sum(range(500))\nburn()\nsys.exit(7)")
    screen = tty()

    status = screen.start(pystrobe.words + [pystrobe.path, "top", "-d", "0.2", "--", "/usr/bin/python3", "-c", code])

    screen.wait_row(HEAD, " burn ")
    screen.wait_row(0, "ENDED")
    assert "in the way" not in "\n".join(screen.settled())
    screen.press("q")
    assert terminal.read_status(status) == 7


@pytest.mark.parametrize("words", [[], ["--pid", "x"], ["-d", "x", "--pid", "1"], ["-n", "0", "--pid", "1"],
                                   ["--pid", "1", "--", "true"], ["--children", "--target", "x"]])
def test_wrong_words_are_usage_errors(pystrobe, words):
    done = pystrobe.run("top", *words)

    assert done.returncode == 64
    assert done.stderr and not done.stdout

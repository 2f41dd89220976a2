# SPDX-License-Identifier: Apache-2.0
"""Every command that README.md shows must do what it says."""

import contextlib
import os
import re
import signal
import subprocess

import pytest

import live
import readme

pytestmark = pytest.mark.tools

README = os.path.join(live.TREE, "README.md")
BLOCKS = readme.blocks(README)
TIMEOUT_S = 240
STOP_WITHIN_S = 60


@pytest.fixture
def place(tmp_path, pystrobe):
    """A folder in which README's relative paths hold."""
    (tmp_path / "build").mkdir()
    wrapper = tmp_path / "build" / "pystrobe"
    wrapper.write_text("#!/bin/sh\nexec %s \"$@\"\n" % " ".join(pystrobe.words + [pystrobe.path]))
    wrapper.chmod(0o755)
    (tmp_path / "tests").symlink_to(os.path.join(live.TREE, "tests"))
    return tmp_path


def wait_for(process, stop_after_s):
    """The exit status; what runs on for ever gets SIGINT, as from a terminal."""
    if stop_after_s:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return "%d before it was stopped" % process.wait(stop_after_s)
        os.killpg(process.pid, signal.SIGINT)
    try:
        return process.wait(STOP_WITHIN_S if stop_after_s else TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return "none: it did not end"


def run(script, place, stop_after_s=None):
    """Gives (status, output)."""
    log = place / "output.txt"
    with open(str(log), "wb") as file:
        process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", script], cwd=str(place), stdin=subprocess.DEVNULL, stdout=file,
            stderr=subprocess.STDOUT, start_new_session=True, env=dict(os.environ, TMPDIR=str(place)),
        )
    status = wait_for(process, stop_after_s)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # what it left in the background
    return status, log.read_text(encoding="utf-8", errors="replace")


def is_run_here(how):
    return how == "" or how.startswith("stop-after=")


def test_every_block_says_how_it_is_tested():
    assert BLOCKS, "README.md has no ```sh block"
    for how, script, line in BLOCKS:
        assert re.fullmatch(r"|clean-root|clone|package|container|stop-after=\d+|needs-root .+", how), "README.md:%d: %s" % (line, how)
        assert script.strip(), "README.md:%d: an empty block" % line


def test_a_newcomers_task_takes_at_most_three_commands():
    tasks = readme.tasks(README)

    assert len(tasks) == 5
    for task in tasks:
        assert 0 < len(readme.commands_of(task.script)) <= 3, "README.md:%d" % task.line
        assert task.how in ("", "clone", "package", "container"), "README.md:%d: %s: not run" % (task.line, task.how)


@pytest.mark.parametrize("line, tells", [
    ("W: Some index files failed to download", True), ("E: Unable to locate package", True), ("Error: no such image", True),
    ("make: *** [Makefile:9: all] Error 2", True), ('level=warning msg="missing"', True), ("2 errors, 1 warning.", True),
    ("Setting up libgpg-error0:amd64 (1.46-1) ...", False), ("Setting up liberror-perl (0.17029-2) ...", False),
    ("gcc -Werror -c -o build/conf/errors.o conf/errors.c", False), ("NEW: all is well", False)])
def test_what_counts_as_a_warning_or_an_error(line, tells):
    assert bool(readme.complaints(line)) == tells


def test_every_command_of_the_tour_works(place):
    """In reading order and in one folder, as a reader would type them."""
    for how, script, line in BLOCKS:
        if not is_run_here(how):
            continue
        status, output = run(script, place, int(how.partition("=")[2]) if how else None)
        assert status == 0, "README.md:%d: %s\n%s" % (line, script, output)

# SPDX-License-Identifier: Apache-2.0
"""Line tables and opcodes must be read as each interpreter reads its own.

Compares every instruction of a sample of the interpreter's standard library, of all of it with
LINES_ALL=1 (a debug build shares its library with a release build: there the sample is enough).
"""

import io
import itertools
import json
import os
import subprocess

import pytest

import live

SAMPLE = 200000  # code units: instructions, with their caches from 3.11 on
SEED = 4
BATCH_BYTES = 8 << 20
SKIPPED_MAX = 0.05  # files that do not compile: the test suite has some that must not


@pytest.fixture(scope="module")
def tools():
    return os.path.join(os.path.abspath(os.environ.get("PYSTROBE_BUILD", os.path.join(live.TREE, "build"))),
                        "tests", "tools")


class Record:
    """A code object's line table as the unwinder gets it, and the interpreter's answer."""

    def __init__(self, head, stream):
        words = head.decode("utf-8", "replace").split(None, 5)
        self.format, self.first_line, self.units, size, answer_size = map(int, words[:5])
        self.name = words[5].strip()
        self.table = stream.read(size)
        self.answer = stream.read(answer_size)

    def question(self):
        return b"%d %d %d %d\n" % (self.format, self.first_line, self.units, len(self.table)) + self.table


def records(stream, totals):
    """Reads what tests/targets/linetables.py writes; its last line goes to `totals`."""
    for head in stream:
        if head.startswith(b"end "):
            totals.extend(map(int, head.split()[1:]))
            return
        yield Record(head, stream)


def batches(items):
    batch, size = [], 0
    for record in items:
        batch.append(record)
        size += len(record.answer) + len(record.table)
        if size > BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def differences(batch, got):
    """The first few instructions for which the unwinder says something else."""
    lines = iter(got.splitlines())
    found = []
    for record in batch:
        own = record.answer.splitlines()
        for unit, (wanted, seen) in enumerate(zip(own, itertools.islice(lines, len(own)))):
            if wanted != seen:
                found.append("%s, unit %d: Python says %s, we say %s" % (
                    record.name, unit, wanted.decode(), seen.decode()))
    return found[:10] or ["the number of answers differs"]


def compare(batch, lines_of):
    done = subprocess.run([lines_of], input=b"".join(record.question() for record in batch),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 0, done.stderr.decode()
    if done.stdout != b"".join(record.answer for record in batch):
        pytest.fail("\n".join(differences(batch, done.stdout)))


@pytest.mark.releases
def test_each_instructions_line_and_columns_are_the_interpreters_own(python, tools, capsys):
    whole = os.environ.get("LINES_ALL") == "1" and not python["debug"]
    command = live.command_of(python, "linetables.py", *([] if whole else [SAMPLE, SEED]))
    totals = []

    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          env=live.clean_environment(), cwd="/") as target:
        for batch in batches(records(target.stdout, totals)):
            compare(batch, os.path.join(tools, "lines_of"))

    assert target.returncode == 0 and totals, "the program ended with %s" % target.returncode
    files, skipped, units = totals
    assert units >= SAMPLE and skipped <= files * SKIPPED_MAX, "%d files, %d skipped" % (files, skipped)
    with capsys.disabled():
        print("\nlines: %s: %d code units of %d files, 0 differences" % (python["id"], units, files), end="")


def test_a_wrong_answer_is_found():
    stream = io.BytesIO(b"0 7 2 2 16 a.py:f\n\x02\x017 0 0 0\n8 0 0 0\nend 1 0 2\n")
    totals = []
    batch = list(records(stream, totals))

    assert totals == [1, 0, 2]
    assert differences(batch, b"7 0 0 0\n9 0 0 0\n") == [
        "a.py:f, unit 1: Python says 8 0 0 0, we say 9 0 0 0"]


def test_opcodes_have_the_names_that_the_interpreter_gives_them(python, tools):
    command = live.command_of(python, os.path.join(live.TESTS, "tools", "opcodes.py"))
    minor = python["version"].split(".")[1]

    own = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=live.clean_environment()).stdout
    ours = subprocess.run([os.path.join(tools, "opcode_of"), minor], stdout=subprocess.PIPE, check=True).stdout

    assert ours.decode().splitlines() == own.decode().splitlines()


def test_a_line_table_that_is_too_large_costs_the_lines_of_its_function_alone(python, start, pystrobe):
    own = start(python, "huge_table.py").read_json()

    done = pystrobe.run("dump", "--pid", own["pid"], "--json")

    assert done.returncode == 0, done.stderr
    thread, = json.loads(done.stdout)["interpreters"][0]["threads"]
    frames = {frame["func"]: frame for frame in thread["frames"]}
    assert [frame["func"] for frame in thread["frames"]] == ["wait", "huge", "<module>"]
    assert frames["huge"]["file"] == "/srv/huge.py"
    if int(python["version"].split(".")[1]) <= 10:
        assert own["size"] > 4 << 20
        assert frames["huge"].get("line") in (None, 0, 1)
    else:
        assert frames["huge"]["line"] == 2 ** 31 - 2
    assert frames["<module>"]["line"] > 1

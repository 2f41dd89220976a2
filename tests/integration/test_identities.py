# SPDX-License-Identifier: Apache-2.0
"""CPU time and names of threads, interpreters and the end: each has its own, whatever was at its place before."""

import collections
import json
import os

import pytest

import live
from test_programs import build_variables, compile_program

# Of what a function took by its own clock. How exact that is depends on who else wants the CPU: amounts are held by
# tests/unit/sampling/test_process.c.
LEAST = 0.25
MADE_UP = ("<native>", "<interpreter shutting down>")


def record(pystrobe, command, path):
    """({function: {(thread's name, its id): seconds of CPU}}, what the program says of itself)."""
    done = pystrobe.run("record", "--split", "thread", "-r", 200, "-o", path, "--", *command,
                        env=live.clean_environment())
    assert done.returncode == 0, done.stderr
    found = collections.defaultdict(collections.Counter)
    for line in path.read_text().splitlines()[1:]:
        row = json.loads(line)
        labels = {label["key"]: label["value"] for label in row["labels"]}
        for frame in row["stack"]:
            if frame["func"].startswith("spin_") or frame["func"] in MADE_UP:
                found[frame["func"]][labels.get("thread name"), labels.get("thread id")] += row["values"]["cpu"] / 1e9
    return found, json.loads(done.stdout)


def assert_each_has_its_own(found, own):
    for function, wanted in own.items():
        if function == "pid":
            continue
        seen = found[function]
        assert sum(seen.values()) > LEAST * wanted["cpu"], (function, seen, own)
        assert max(seen, key=seen.get) == (wanted["name"], wanted["tid"]), seen  # at first it may have no name


@pytest.mark.releases
@pytest.mark.parametrize("mode", ["threads", "renames", "interpreter"])
def test_each_has_its_own_time_and_name(python, pystrobe, tmp_path, mode):
    if mode == "interpreter" and int(python["version"].split(".")[1]) < 8:
        pytest.skip("sub-interpreters can be made from Python from 3.8 on")
    assert_each_has_its_own(*record(pystrobe, live.command_of(python, "identities.py", mode), tmp_path / "out.jsonl"))


@pytest.mark.releases
def test_what_is_taken_down_at_the_end_is_no_functions_time(python, pystrobe, tmp_path):
    found, own = record(pystrobe, live.command_of(python, "identities.py", "shutdown"), tmp_path / "out.jsonl")
    assert_each_has_its_own(found, own)
    knows = int(python["version"].split(".")[1]) >= 7  # before, nothing says that it shuts down
    assert sum(found["<interpreter shutting down>" if knows else "<native>"].values()) > 0


@pytest.mark.releases
def test_python_may_begin_in_any_thread(python, pystrobe, tmp_path):
    if python["root"] or not python["library"]:
        pytest.skip("there is no libpython to link here")
    libraries = [python["library"], "-Wl,-rpath," + os.path.dirname(python["library"])]
    program = compile_program(python, build_variables(python), libraries, str(tmp_path / "host"), "-DIN_THREAD")
    found, own = record(pystrobe, [program, os.path.join(live.TARGETS, "identities.py"), "threads"], tmp_path / "out.jsonl")
    assert_each_has_its_own(found, own)
    assert own["spin_main"]["tid"] != own["pid"]

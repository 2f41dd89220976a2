# SPDX-License-Identifier: Apache-2.0
"""Yama at each of its levels, by a kernel that has it: who may read whom, what the doctor says, and
what becomes of a command under pystrobe exec. guest.py does it, here is what is expected."""

import pytest

SECONDS = 900  # the emulator takes one or two minutes where it has the machine for itself
LEVELS = range(4)

# Who reads: at which levels that works.
READS = {"the same user": {0}, "another user": set(), "another user, capable": {0, 1, 2}, "root": {0, 1, 2},
         "root, not capable": set()}
STANDS_IN_FRONT = {"a user": {0, 1}, "another user, capable": {0, 1, 2}, "root": {0, 1, 2}}
# At which level Yama is the cause that is told, and the words for it.
CAUSES = {0: "belongs to another user", 1: "scope is 1", 2: "scope is 2", 3: "scope is 3"}
FAMILY = {"as_main", "as_worker", "as_daemon"}


@pytest.fixture(scope="session")
def seen(guest):
    """What the guest saw: {(level, case): observation}."""
    lines = guest("guest.py", SECONDS)
    assert lines and lines[-1] == {"case": "done"}, lines[-1:]
    return {(one["level"], one["case"]): one for one in lines[:-1]}


def cause(level, reader):
    """Why a process of another one cannot be read: Yama, if not the user already."""
    return CAUSES[level if level > 1 or reader == "the same user" else 0]


@pytest.mark.parametrize("reader", READS)
@pytest.mark.parametrize("level", LEVELS)
def test_a_process_is_read_where_the_level_lets_it(seen, level, reader):
    one = seen[level, "record " + reader]

    if level in READS[reader]:
        assert one["status"] == 0 and "spins_here" in one["functions"], one
    else:
        assert one["status"] == 77 and one["functions"] == [], one
        assert cause(level, reader) in one["errors"]


@pytest.mark.parametrize("reader", READS)
@pytest.mark.parametrize("level", LEVELS)
def test_the_doctor_says_what_trying_shows(seen, level, reader):
    one = seen[level, "doctor " + reader]
    checks = {check["check"]: check for check in one["report"]["checks"]}

    assert (one["status"] == 0) == (level in READS[reader]), one
    if level in READS[reader]:
        assert checks["sample"]["result"] == "ok"
    else:
        assert checks["process"]["result"] == "fail" and cause(level, reader) in checks["process"]["text"], one
        assert checks["process"]["cure"]
    capable = checks["CAP_SYS_PTRACE"]["result"] == "ok"
    good = "ok" if level == 0 or (capable and level < 3) else "note" if level == 1 else "fail"
    assert checks["yama"]["result"] == good and "scope is %d" % level in checks["yama"]["text"]


@pytest.mark.parametrize("level", LEVELS)
def test_a_parent_reads_its_child_where_the_level_lets_it(seen, level):
    one = seen[level, "record the parent"]

    assert one["status"] == 7
    if level in (0, 1):
        assert "as_main" in one["functions"], one
    else:
        assert one["functions"] == [] and CAUSES[level] in one["errors"], one


@pytest.mark.parametrize("who", STANDS_IN_FRONT)
@pytest.mark.parametrize("level", LEVELS)
def test_a_command_runs_and_all_its_processes_are_profiled_where_the_level_lets_it(seen, level, who):
    one = seen[level, "exec " + who]

    assert one["status"] == 7
    if level in STANDS_IN_FRONT[who]:
        assert set(one["functions"]) >= FAMILY and one["errors"] == "", one
    else:
        assert one["functions"] == [] and len(one["errors"].splitlines()) == 1, one
        assert CAUSES[level] in one["errors"] and ("CAP_SYS_PTRACE" if level == 2 else "sysctl") in one["errors"]


@pytest.mark.parametrize("level", [0, 1])
def test_a_second_profiler_reads_the_command_too(seen, level):
    one = seen[level, "a second profiler"]

    assert one["status"] == 0 and "after" in one["functions"], one
    assert ("CAP_SYS_PTRACE" in one["errors"]) == (level == 1)  # what it may not read is told

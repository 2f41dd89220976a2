# SPDX-License-Identifier: Apache-2.0
"""`pystrobe dump --async` must say of the tasks of a program what the program says of itself."""

import json
import os
import subprocess
import time

import pytest

import live

SAMPLES = 50
CHAINS = 500 if live.SANITIZED else 8000  # such builds are slow, and it is the target that is looked at
# Where pystrobe goes on and CPython's reader stops: at generators that coroutines await.
GOES_FURTHER = {"awaits_old_style", "awaits_a_coroutine_in_old_style", "awaits_an_object",
                "awaits_a_wrapper", "awaits_anext_with_default"}


@pytest.fixture
def modern(python):
    """A Python that has tasks which can be read."""
    if tuple(int(part) for part in python["version"].split(".")[:2]) < (3, 14):
        pytest.skip("asyncio can be read from 3.14 on")
    return python


def dump_async(pystrobe, pid, what="all"):
    done = pystrobe.run("dump", "--pid", pid, "--async", what, "--json")
    assert done.returncode == 0, "dump ended with %d: %s" % (done.returncode, done.stderr)
    return json.loads(done.stdout)


def by_id(document):
    tasks = {task["id"]: task for task in document["tasks"]}
    assert len(tasks) == len(document["tasks"]), "a task twice"
    return tasks


def lines_of(task):
    """The coroutines as text, for a difference one can read."""
    return ["%(func)s %(file)s:%(line)s (from %(first_line)s)" % frame for frame in task["coroutines"]]


def name_of(task):
    """NULs become U+FFFD on the way out; what is too long is cut by neither."""
    return task["name"].replace("\0", "\ufffd")


def assert_same_tasks(own, seen):
    own_tasks, seen_tasks = by_id(own), by_id(seen)
    assert sorted(name_of(task) for task in own_tasks.values()) == sorted(
        task["name"] for task in seen_tasks.values()), "names"
    assert sorted(own_tasks) == sorted(seen_tasks), "ids"
    for number, task in own_tasks.items():
        other = seen_tasks[number]
        assert other["name"] == name_of(task)
        assert lines_of(other) == lines_of(task), "coroutines of %s" % task["name"]
        for key in ("tid", "running", "cut", "awaited_by"):
            assert other[key] == task[key], "%s of %s" % (key, task["name"])


def test_all_tasks_equal_the_programs_own_view(modern, pystrobe, start):
    target = start(modern, "tasks.py")
    own = target.read_json()
    live.wait_until_asleep(own["pid"])

    for _ in range(SAMPLES):
        seen = dump_async(pystrobe, own["pid"])
        assert_same_tasks(own, seen)

    assert seen["torn"] == 0
    assert seen["python"] == own["python"] and seen["pid"] == own["pid"]
    assert abs(seen["taken_unix_ns"] - time.time_ns()) < 60 * 10**9
    assert target.end() == 0, "the program was harmed"


def test_awaited_by_equals_what_asyncio_s_own_graph_says(modern, pystrobe, start_quiet):
    own = start_quiet(modern, "tasks.py")

    seen = by_id(dump_async(pystrobe, own["pid"]))

    compared = 0
    for task in own["tasks"]:
        if task["graph"] is not None:
            assert seen[task["id"]]["awaited_by"] == task["graph"], task["name"]
            compared += 1
    assert compared > 50


def test_tasks_that_are_done_are_left_out(modern, pystrobe, start_quiet):
    own = start_quiet(modern, "tasks.py")

    seen = by_id(dump_async(pystrobe, own["pid"]))

    assert len(own["finished"]) == 3
    assert not set(own["finished"]) & set(seen)


def running_closure(own):
    """Ids of the running tasks and of all that wait for them."""
    tasks, found = by_id(own), set()
    queue = [number for number, task in tasks.items() if task["running"]]
    while queue:
        number = queue.pop()
        if number not in found:
            found.add(number)
            queue += [waiter for waiter in tasks[number]["awaited_by"] if waiter in tasks]
    return found


def test_running_tasks_come_with_what_awaits_them(modern, pystrobe, start_quiet):
    own = start_quiet(modern, "tasks.py")

    seen = dump_async(pystrobe, own["pid"], "running")

    wanted = running_closure(own)
    assert sum(task["running"] for task in seen["tasks"]) == 3
    assert len(wanted) > 3
    own["tasks"] = [task for task in own["tasks"] if task["id"] in wanted]
    assert_same_tasks(own, seen)


def remote_unwinder(python, pid):
    """What the interpreter's own reader says: {id: task}."""
    try:
        words, env = live.outside_command(python)
    except live.roots.Unavailable as reason:
        pytest.skip(str(reason))
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "remote_unwinder.py")
    done = subprocess.run(words + [script, str(pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False, env=env, cwd="/")
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return {int(number): task for number, task in json.loads(done.stdout).items()}


def frames_of(task):
    return [[frame["func"], frame["file"], frame["line"]] for frame in task["coroutines"]]


def test_all_tasks_equal_what_cpython_s_own_reader_says(modern, pystrobe, start_quiet):
    own = start_quiet(modern, "tasks.py")
    theirs = remote_unwinder(modern, own["pid"])

    seen = by_id(dump_async(pystrobe, own["pid"]))

    # 3.14's reads the main thread and what threads left behind; a task that runs eagerly is in
    # no list yet.
    tids = {task["tid"] for task in theirs.values()}
    missing = [task["name"] for number, task in seen.items() if number not in theirs and task["tid"] in tids]
    assert {own["pid"], None} <= tids
    assert missing in ([], ["runs eagerly"])
    assert not set(theirs) - set(seen)
    for number, task in theirs.items():
        mine, chain = seen[number], frames_of(seen[number])
        if task["name"].isascii() and mine["name"].isascii() and len(mine["name"]) < 255:  # 3.14 garbles others
            assert mine["name"] == task["name"]
        assert mine["tid"] == task["tid"], mine["name"]
        length = len(task["coroutines"])
        assert chain[len(chain) - length:] == task["coroutines"], mine["name"]
        assert length == len(chain) or mine["running"] or mine["name"] in GOES_FURTHER, mine["name"]
        if mine["name"] != "below a future":  # they give the future
            assert mine["awaited_by"] == task["awaited_by"], mine["name"]


def test_the_tree_shows_each_task_once_and_awaiters_above(modern, pystrobe, start_quiet):
    own = start_quiet(modern, "tasks.py")

    done = pystrobe.run("dump", "--pid", own["pid"], "--async", "all")

    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    heads = [line for line in lines if "Task \"" in line and (", waiting" in line or ", running" in line)]
    assert len(heads) == len(own["tasks"])
    assert sum("its thread has ended" in line for line in heads) == 1
    cycles = [line for line in lines if line.endswith(": a cycle, see above")]
    assert len(cycles) == 1
    parent = next(i for i, line in enumerate(lines) if line.startswith("Task \"in_a_group\""))
    assert any("group child 1" in line for line in lines[parent:parent + 8])


def test_the_text_of_running_tasks_goes_on_with_their_awaiters(modern, pystrobe, start_quiet):
    own = start_quiet(modern, "tasks.py")

    done = pystrobe.run("dump", "--pid", own["pid"], "--async", "running")

    assert done.returncode == 0, done.stderr
    assert "Othér" in done.stdout
    assert "└── awaited by Task" in done.stdout
    assert "nested" not in done.stdout


def chain_is_possible(names):
    """names: outermost first."""
    kind = names[0][0]
    chains = [[kind + "1", kind + "2", kind + "3", "sleep", "__sleep0"],
              [kind + "1_leaf", kind + "2", kind + "3", "sleep", "__sleep0"],
              [kind + "1", "TaskGroup.__aexit__", "TaskGroup._aexit"]]
    return any(names == chain[:len(names)] for chain in chains)


def chains_in(document):
    """Of the tasks that wait, outermost first; each must be possible."""
    found = []
    for task in document["tasks"]:
        if task["name"] in ("a", "b") and not task["running"]:
            found.append([frame["func"] for frame in task["coroutines"]][::-1])
            assert found[-1] and chain_is_possible(found[-1]), found[-1]
            assert found[-1][0][0] == task["name"]
    return found


def test_chains_of_tasks_that_move_are_never_mixed(modern, pystrobe, start):
    pid = start(modern, "tasks_busy.py").read_json()["pid"]
    seen = []

    def are_enough():
        done = pystrobe.run("dump", "--pid", pid, "--async", "all", "--json")
        assert done.returncode in (0, 1), done.stderr
        seen.extend(chains_in(json.loads(done.stdout)))
        return len(seen) >= CHAINS

    live.wait_until(are_enough, "enough chains", 0)


def test_a_python_before_3_14_is_refused_in_one_clear_line(python, pystrobe, start):
    if tuple(int(part) for part in python["version"].split(".")[:2]) >= (3, 14):
        pytest.skip("this one can be read")
    own = start(python, "frames.py").read_json()

    done = pystrobe.run("dump", "--pid", own["pid"], "--async", "all")

    assert done.returncode == 69
    assert done.stdout == ""
    assert "3.14 or later" in done.stderr and len(done.stderr.splitlines()) == 1


def test_async_takes_nothing_but_running_and_all(pystrobe):
    done = pystrobe.run("dump", "--pid", os.getpid(), "--async", "some")

    assert done.returncode == 64


@pytest.mark.parametrize("words", [["--pause"], ["--color", "always"], ["--threads", "main"], ["-m", "cpu"], ["-n"],
                                   ["-g"], ["--positions"], ["--opcodes"]])
def test_an_option_about_stacks_is_refused_with_async_and_not_ignored(pystrobe, words):
    done = pystrobe.run("dump", "--pid", os.getpid(), "--async", "all", *words)

    long_name = {"-m": "--mode", "-n": "--native", "-g": "--gc"}.get(words[0], words[0])
    assert done.returncode == 64 and not done.stdout
    assert long_name in done.stderr and "leave one of the two out" in done.stderr


def test_options_that_change_nothing_go_with_async(modern, pystrobe, start):
    own = start(modern, "tasks.py").read_json()

    done = pystrobe.run("dump", "--pid", own["pid"], "--async", "all", "--no-source", "--color", "never", "-t", "all",
                        "-m", "wall")

    assert done.returncode == 0, done.stderr

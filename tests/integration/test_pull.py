# SPDX-License-Identifier: Apache-2.0
"""Profiles and stacks that are pulled over HTTP, as from a program in Go."""

import concurrent.futures
import os
import re
import stat
import subprocess
import tempfile
import time

import pytest

import live
import pages
import profiles
from agents import Agent

A_TICK_NS = 20e6  # the kernel's numbers of threads are so much older than that of the process


@pytest.fixture
def shop(agent, start, tmp_path):
    """An agent that samples two programs of one service: (agent, port, {hot function: pid})."""
    port = pages.free_port()
    pids = {name: pages.start_program(start, tmp_path, "desk_%s.py" % name, name) for name in ("brew", "bake")}
    run = agent(pages.ini_of(tmp_path, "127.0.0.1:%d" % port))
    run.wait_for(pids.values())
    pages.wait_until_ready(port)
    return run, port, pids


def pull(tmp_path, port, query):
    """The profile as pprofcheck sees it."""
    status, body, headers = pages.ask(port, "/debug/pprof/profile?" + query)
    assert status == 200, body
    assert headers["Content-Type"] == "application/octet-stream"
    assert headers["Content-Disposition"] == 'attachment; filename="profile"'
    with tempfile.NamedTemporaryFile(dir=tmp_path) as file:
        file.write(body)
        file.flush()
        profile = profiles.read(file.name)[0]
    assert os.path.basename(profile["binary"]).startswith(("python", "libpython"))
    return profile


def functions(profile):
    return set(re.findall(r"[a-z_]+", str([sample["stack"] for sample in profile["samples"]])))


def test_go_tool_pprof_takes_it_as_from_go(shop, tmp_path):
    _, port, _ = shop
    address = "http://127.0.0.1:%d/debug/pprof/profile?seconds=1&target=desk" % port

    def top():
        done = subprocess.run(["go", "tool", "pprof", "-top", address], capture_output=True, text=True,
                              timeout=live.DEADLINE_S, env=dict(os.environ, PPROF_TMPDIR=str(tmp_path)))
        assert done.returncode == 0 and "Type: cpu" in done.stdout, done.stderr
        assert "Main binary" not in done.stderr
        return "brew" in done.stdout and "bake" in done.stdout

    live.wait_until(top, "both programs' functions")


def test_a_pull_of_one_process_has_its_cpu_time_and_no_other(shop, tmp_path):
    """Through the end of an interval at least; not more than the kernel counted meanwhile."""
    _, port, pids = shop

    def has_both():
        before = profiles.cpu_ns(pids["brew"])
        profile = pull(tmp_path, port, "seconds=2&pid=%d&rate=100" % pids["brew"])
        spent = profiles.cpu_ns(pids["brew"]) - before
        found = functions(profile)

        assert 2e9 <= profile["duration_ns"] and profile["period"] > 0
        assert "bake" not in found
        assert profiles.total([profile], "cpu") <= spent + A_TICK_NS
        return {"brew", "warm"} <= found and profiles.total([profile], "cpu") > 0

    live.wait_until(has_both, "the functions of the one program")


def test_labels_have_the_names_that_a_pyroscope_takes_from_a_scraper(agent, start, tmp_path):
    port = pages.free_port()
    pid = pages.start_program(start, tmp_path, "desk_brew.py", "brew")
    run = agent(pages.ini_of(tmp_path, "127.0.0.1:%d" % port).replace("service = shop", "service = shop\nsplit = thread"))
    run.wait_for([pid])
    pages.wait_until_ready(port)

    labels = [sample["labels"] for sample in pull(tmp_path, port, "seconds=2")["samples"]]

    assert {name for of_one in labels for name in of_one} == {"service", "process_pid", "thread_id", "thread_name"}
    assert {of_one["process_pid"] for of_one in labels} == {pid}
    assert "idler" in str([of_one.get("thread_name") for of_one in labels])


def test_pulls_at_the_same_time_share_the_samples(shop, tmp_path):
    """None takes away what the others see."""
    _, port, _ = shop

    def all_have_both(pool):
        found = pool.map(lambda _: functions(pull(tmp_path, port, "seconds=1")), range(3))
        return all({"brew", "bake"} <= one for one in list(found))

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        live.wait_until(lambda: all_have_both(pool), "both programs in each of three")


def hold(port):
    """The status of a long pull, which comes again when somebody else has its place."""
    while True:
        status, body, _ = pages.ask(port, "/debug/pprof/profile?seconds=300")
        if b"being made already" not in body:
            return status
        time.sleep(0.1)


@pytest.mark.long
def test_there_may_be_only_so_many_pulls(shop):
    """What is too much is refused at once; those that run do not hold up the end of the agent."""
    run, port, _ = shop
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(hold, port) for _ in range(8)]
        live.wait_until(lambda: pages.ask(port, "/debug/pprof/profile?seconds=1")[0] == 503, "there are eight")
        assert pages.ask(port, "/metrics")[0] == 200
        assert run.stop()[0] == 0
        assert {one.result() for one in waiting} <= {0, 503}


@pytest.mark.parametrize("query, code, word", [
    ("seconds=0", 400, "from 1 to 300"), ("seconds=1x", 400, "from 1 to 300"), ("seconds=301", 400, "from 1 to 300"),
    ("seconds=", 400, "from 1 to 300"), ("rate=0", 400, "from 0.1 to 1000"), ("rate=nan", 400, "from 0.1 to 1000"),
    ("pid=0", 400, "pid"), ("pid=1&target=desk", 400, "one of them"), ("target=", 400, "target"),
    ("target=" + "x" * 300, 400, "target"), ("target=nobody&seconds=1", 404, "nobody"),
    ("pid=99999999&seconds=1", 404, "99999999")])
def test_bad_parameters_are_refused_with_words(shop_of_nobody, query, code, word):
    status, body, headers = pages.ask(shop_of_nobody, "/debug/pprof/profile?" + query)

    assert status == code and word in body.decode(), body
    assert headers["Content-Type"] == "text/plain; charset=utf-8" and "Content-Disposition" not in headers


@pytest.fixture(scope="module")
def shop_of_nobody(pystrobe, tmp_path_factory):
    """The port of an agent that has nothing to sample."""
    folder = tmp_path_factory.mktemp("nobody")
    port = pages.free_port()
    (folder / "a.ini").write_text(pages.ini_of(folder, "127.0.0.1:%d" % port))
    run = Agent(pystrobe, folder / "a.ini")
    pages.wait_until_ready(port)
    yield port
    run.process.kill()
    run.process.wait()


def test_stacks_are_those_of_all_threads(shop):
    _, port, pids = shop
    status, body, _ = pages.ask(port, "/debug/stacks")
    text = body.decode()

    assert status == 200
    for name, pid in pids.items():
        assert "Process %d:" % pid in text and "desk_%s.py" % name in text, text
    assert text.count(" in idle\n") == 2, text
    status, body, _ = pages.ask(port, "/debug/stacks?pid=%d" % pids["bake"])
    assert status == 200 and "Process %d:" % pids["brew"] not in body.decode()
    for target in ("shop", "desk"):  # the service, and its section
        status, body, _ = pages.ask(port, "/debug/stacks?target=" + target)
        assert status == 200 and all("Process %d:" % pid in body.decode() for pid in pids.values())
    assert pages.ask(port, "/debug/stacks?target=nobody")[0] == 404
    status, body, _ = pages.ask(port, "/debug/pprof/")
    assert status == 200 and all(str(pid) in body.decode() for pid in pids.values())


def test_stacks_have_the_tasks_too(agent, start, tmp_path):
    """Of a Python whose tasks can be read."""
    found = [python for python in live.load_pythons()[0] if tuple(map(int, python["version"].split(".")[:2])) >= (3, 14)]
    if not found:
        pytest.skip("there is no Python with tasks that can be read")
    port = pages.free_port()
    mark = "mark-%d" % os.getpid()
    pid = start(found[0], "awaits.py", mark).read_json()["pid"]
    ini = pages.ini_of(tmp_path, "127.0.0.1:%d" % port)
    agent(re.sub("cmdline = .*", "cmdline = " + mark, ini)).wait_for([pid])
    pages.wait_until_ready(port)

    def both():
        text = pages.ask(port, "/debug/stacks")[1].decode()
        return text if re.search(r"\bidle\b", text) and re.search(r"\bbusy\b", text) else None

    text = live.wait_until(both, "both tasks", 0.1)
    assert "Process %d:" % pid in text and "MainThread" in text, "beside the threads"


def test_a_key_turns_it_off_while_the_agent_runs(agent, tmp_path):
    port = pages.free_port()
    run = agent(pages.ini_of(tmp_path, "127.0.0.1:%d" % port))
    pages.wait_until_ready(port)
    assert pages.ask(port, "/debug/pprof/")[0] == 200

    run.ini.write_text(pages.ini_of(tmp_path, "127.0.0.1:%d" % port, "pull = off"))
    run.process.send_signal(1)
    live.wait_until(lambda: pages.ask(port, "/debug/pprof/")[0] == 404, "it is off", 0.1)
    assert pages.ask(port, "/debug/stacks")[0] == 404 and pages.ask(port, "/metrics")[0] == 200


def test_elsewhere_than_on_the_loopback_it_is_off(agent, tmp_path):
    port = pages.free_port()
    agent(pages.ini_of(tmp_path, "0.0.0.0:%d" % port))
    pages.wait_until_ready(port)

    assert pages.ask(port, "/debug/pprof/")[0] == 404 and pages.ask(port, "/debug/stacks")[0] == 404


def test_a_socket_in_the_file_system_is_for_its_user_alone(agent, tmp_path):
    path = tmp_path / "http.sock"
    run = agent(pages.ini_of(tmp_path, path))
    pages.wait_until_ready(path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert pages.ask(path, "/debug/pprof/")[0] == 200 and pages.ask(path, "/metrics")[0] == 200
    assert run.stop()[0] == 0 and not path.exists()

# SPDX-License-Identifier: Apache-2.0
"""Real servers from PyPI under load, whose workers are replaced all the time: one profile of one service.

`make servers` installs what tests/setup/servers.txt lists, and runs these.
"""

import contextlib
import http.client
import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

import live
import profiles

sys.path.insert(0, os.path.join(live.TESTS, "setup"))
import packages  # noqa: E402

LOAD_S, CLIENTS, WORKERS = 12, 3, 3
TASK_PAUSE_S = 0.01

INI = """
[agent]
rate = 100Hz
interval = 2s
scan = 200ms
env_allow = SHOP_MARK
max_cpu = 50%%
[target shop]
env.SHOP_MARK = ^%(mark)s$
service = shop
[exporter out]
type = store
path = %(store)s
"""

GUNICORN = ["-m", "gunicorn", "--workers", str(WORKERS), "--graceful-timeout", "5", "--log-level", "error"]
SERVERS = {
    "gunicorn-sync-flask": GUNICORN + ["--bind", "127.0.0.1:PORT", "shop_apps:flask_app"],
    "gunicorn-gthread-django": GUNICORN + ["--worker-class", "gthread", "--threads", "4", "--bind", "127.0.0.1:PORT",
                                           "shop_apps:django_app"],
    "uvicorn": ["-m", "uvicorn", "--workers", str(WORKERS), "--port", "PORT", "--log-level", "error",
                "shop_apps:asgi_app"],
}
CELERY = ["-m", "celery", "-A", "shop_apps:celery", "worker", "--pool", "prefork", "--concurrency", str(WORKERS),
          "--max-tasks-per-child", "10", "--loglevel", "ERROR", "--without-gossip", "--without-mingle",
          "--without-heartbeat"]


def free_port():
    return live.free_ports(1)[0]


def ask(port):
    """One request; False: nobody answered, as where a worker has just ended."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=live.DEADLINE_S)
    with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
        connection.request("GET", "/")
        return connection.getresponse().read().strip().isdigit()
    return False


class Load:
    """Clients that ask all the time."""

    def __init__(self, one_request):
        self.answered, self._ask, self._ended = 0, one_request, threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(CLIENTS)]
        for thread in self._threads:
            thread.start()

    def _run(self):
        while not self._ended.is_set():
            if self._ask():
                self.answered += 1
            else:
                time.sleep(0.01)

    def end(self):
        self._ended.set()
        for thread in self._threads:
            thread.join()


@pytest.fixture(scope="module")
def server_python():
    """The Python that has the servers."""
    return os.path.join(packages.ensure("servers", print), "bin", "python")


def mark_of(folder):
    """A mark that no other test has: folders of tests that run at the same time can have the same name."""
    return "shop-%d" % os.stat(folder).st_ino


@pytest.fixture
def serve(server_python, tmp_path):
    """serve(words, **variables): a server in a session of its own, which ends with the test."""
    running = []

    def start(words, **variables):
        environment = live.clean_environment(SHOP_MARK=mark_of(tmp_path), PYTHONPATH=live.TARGETS, **variables)
        running.append(subprocess.Popen([server_python] + words, env=environment, cwd=tmp_path, stdin=subprocess.DEVNULL,
                                        start_new_session=True))
        return running[-1]

    yield start
    for process in running:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def replace_workers(server, seconds):
    """Ends a worker each second, as a deployment does; gives those that there were."""
    seen = set()
    for number in range(int(seconds)):
        children = [pid for pid in live.children_of(server.pid) if is_worker(pid)]
        seen |= set(children)
        if children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(sorted(children)[number % len(children)], signal.SIGTERM)
        time.sleep(1)
    return seen


def is_worker(pid):
    """Not what multiprocessing starts to look after its resources."""
    with contextlib.suppress(OSError), open("/proc/%d/cmdline" % pid, "rb") as file:
        return b"resource_tracker" not in file.read()
    return False


def leaf_of(stack):
    """The innermost function; one that begins or ends has none."""
    return stack[0]["func"] if stack else None


def cpu_of(server):
    """The CPU seconds that a server and its workers took, those that have ended among them."""
    spent = 0
    for pid in [server.pid] + live.children_of(server.pid):
        with contextlib.suppress(OSError), open("/proc/%d/stat" % pid, encoding="utf-8") as file:
            fields = file.read().rpartition(")")[2].split()
            spent += sum(map(int, fields[11:15] if pid == server.pid else fields[11:13]))
    return spent / os.sysconf("SC_CLK_TCK")


def price_ns(found):
    """The CPU time of what the workers do."""
    return profiles.total(found, "cpu", lambda sample: leaf_of(sample["stack"]) == "price")


def check(watching, store, seconds, workers, cpu_s):
    """One profile of one service an interval, whole stacks, no more CPU time than the kernel counted, and
    most of the workers.
    """
    log = "".join(watching.log)
    found = profiles.in_store(store, "shop")
    assert [entry.name for entry in os.scandir(store) if entry.is_dir()] == ["shop"]
    assert 2 <= len(found) <= seconds / 2 + 3
    assert int(re.search(r"stopped: .* of (\d+) processes", log).group(1)) > len(workers) / 2, log
    assert "a sampler has ended" not in log and "blocked" not in log
    stacks = [sample["stack"] for profile in found for sample in profile["samples"]]
    prices = [stack for stack in stacks if leaf_of(stack) == "price"]
    assert prices
    assert {stack[1]["func"] for stack in prices} == {"answer"}
    assert all(len(stack) > 4 for stack in prices)
    assert profiles.total(found, "cpu") / 1e9 < cpu_s * 1.02 + 0.5


def run(agent, tmp_path, server, one_request, replace):
    """Watches a server under load."""
    live.wait_until(one_request, "the server answers", 0.1)
    began, cpu_s = time.monotonic(), cpu_of(server)
    watching = agent(INI % {"mark": mark_of(tmp_path), "store": tmp_path / "store"})
    load = Load(one_request)
    try:
        watching.wait_for([server.pid])
        workers = replace(server, LOAD_S)
        live.wait_until(lambda: len(profiles.paths_in_store(tmp_path / "store", "shop")) >= 2 and
                        price_ns(profiles.in_store(tmp_path / "store", "shop")) > 0, "two profiles with CPU time", 0.5)
    finally:
        load.end()
    status, _ = watching.stop()
    assert status == 0
    assert load.answered > 10
    check(watching, tmp_path / "store", time.monotonic() - began, workers, cpu_of(server) - cpu_s)


@pytest.mark.long
@pytest.mark.timing
@pytest.mark.parametrize("name", SERVERS)
def test_workers_of_a_server_make_one_profile(agent, serve, tmp_path, name):
    port = free_port()
    server = serve([word.replace("PORT", str(port)) for word in SERVERS[name]])

    run(agent, tmp_path, server, lambda: ask(port), replace_workers)


@pytest.mark.long
@pytest.mark.timing
def test_workers_of_celery_make_one_profile(agent, serve, server_python, tmp_path):
    folder = tmp_path / "broker"
    (folder / "control").mkdir(parents=True)
    variables = {"SHOP_FOLDER": str(folder)}
    server = serve(CELERY, **variables)
    sender = subprocess.Popen([server_python, "-c", "import shop_apps, time\nwhile True:\n    shop_apps.order.delay()\n"
                               "    time.sleep(%g)" % TASK_PAUSE_S], cwd=tmp_path,
                              env=live.clean_environment(PYTHONPATH=live.TARGETS, **variables))
    seen = set()

    def watch(server, _seconds):
        def are_replaced():
            seen.update(live.children_of(server.pid))
            return len(seen) > 2 * WORKERS

        live.wait_until(are_replaced, "children are replaced", 0.05)
        return seen

    def works():
        return len(live.children_of(server.pid)) >= WORKERS

    try:
        run(agent, tmp_path, server, works, watch)
    finally:
        sender.kill()
        sender.wait()

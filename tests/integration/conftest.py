# SPDX-License-Identifier: Apache-2.0
"""Fixtures: every Python that was found, programs under it, and the pystrobe that was built."""

import contextlib
import fcntl
import os
import pathlib
import shutil
import signal
import subprocess

import pytest

import live
import servers
import tempfile
from agents import Agent
from dead_files import DeadFiles

PYTHONS, MISSING = live.load_pythons()
MACHINES = [python for python in PYTHONS if not python["root"]]  # of the machine itself
# One of each way in which frames lie in memory: enough for tests of what stands above the unwinder.
FEW = "3.8 3.11 3.12 3.14 3.15"


def one_of_each(minors):
    return [next(one for one in PYTHONS if one["version"].startswith(minor + ".")) for minor in minors
            if any(one["version"].startswith(minor + ".") for one in PYTHONS)]


def one_a_version():
    """The newest interpreter of each minor version that is no debug build, where there is one."""
    newest = {}
    for one in sorted(PYTHONS, key=lambda one: not one["debug"]):
        newest[one["version"].rpartition(".")[0]] = one
    return [one for one in PYTHONS if one in newest.values()]


# Sanitizer builds look at our code, not at the Pythons.
ONLY = os.environ.get("PYSTROBE_ONLY", "").split()
if ONLY:
    PYTHONS = one_of_each(ONLY)


# A test that waits for ever would take all others with it.
LIMIT_S = 300
LONG_LIMIT_S = 5400


@pytest.fixture(autouse=True)
def limited(request):
    def end(*_):
        raise TimeoutError("the test took over %d s" % limit)

    takes_its_time = request.node.get_closest_marker("long") or request.node.get_closest_marker("nightly")
    limit = LONG_LIMIT_S if takes_its_time else LIMIT_S
    signal.signal(signal.SIGALRM, end)
    signal.alarm(limit)
    yield
    signal.alarm(0)


def pytest_addoption(parser):
    parser.addoption("--once", action="store_true", help="each test function once, with the first of its parameters")
    parser.addoption("--once-a-python", action="store_true",
                     help="the same, but those about Python's own structures under each Python")


def only_first(config, items):
    """The items that --once or --once-a-python leaves."""
    def key(item):
        about_python = config.getoption("--once-a-python") and not item.get_closest_marker("few")
        params = item.callspec.params if about_python and hasattr(item, "callspec") else {}
        return item.function, params.get("python", {}).get("id")

    def lacks_headers(item):
        """Whether its Python has no headers: some tests would then be skipped under it."""
        params = item.callspec.params if hasattr(item, "callspec") else {}
        return params.get("python", {}).get("id", "").endswith("-maven")

    first = {}
    for item in sorted(items, key=lacks_headers):
        first.setdefault(key(item), item)
    return list(first.values())


def leave_out(config, items, unwanted):
    config.hook.pytest_deselected(items=[item for item in items if unwanted(item)])
    items[:] = [item for item in items if not unwanted(item)]


@pytest.hookimpl(trylast=True)  # after -m has left some out
def pytest_collection_modifyitems(config, items):
    if "nightly" not in config.getoption("markexpr"):
        leave_out(config, items, lambda item: item.get_closest_marker("nightly"))
    items.sort(key=lambda item: item.get_closest_marker("alone") is not None)
    if not config.getoption("--once") and not config.getoption("--once-a-python"):
        return
    kept = only_first(config, items)
    leave_out(config, items, lambda item: item not in kept)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    """Keeps a test that is marked `alone` apart from all others of the run.

    Workers (tests/run.py --workers) share a lock for each test; one that is to be alone takes it for
    itself. All of these come last and run in one worker, so nobody waits twice.
    """
    with open(shared_file(item.config, "alone.lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX if item.get_closest_marker("alone") else fcntl.LOCK_SH)
        yield


def shared_file(config, name):
    """A file that all workers of this run share."""
    folder = config._tmp_path_factory.getbasetemp()
    return os.path.join(folder.parent if hasattr(config, "workerinput") else folder, name)


def pytest_configure(config):
    config.addinivalue_line("markers", "timing: counts what a sanitizer changes, or cannot run under one")
    config.addinivalue_line("markers", "tools: of the tests' and benchmarks' own tools; not for sanitizer builds")
    config.addinivalue_line("markers", "few: dear, or not about Python's own structures: runs with %s (PYSTROBE_EVERY=1: all)"
                            % FEW)
    config.addinivalue_line("markers", "long: takes its time: make integration-long")
    config.addinivalue_line("markers", "releases: dear, and a debug build says nothing more: one Python of each version")
    config.addinivalue_line("markers", "nightly: measures times, so that its result depends on the machine: make nightly (only with -m nightly)")
    config.addinivalue_line("markers", "alone: measures the machine, or watches all its processes: no test runs beside it")
    config.addinivalue_line("markers", "xdist_group: tests of a group run in one worker")


def pytest_generate_tests(metafunc):
    """A test that asks for `python` runs once under each, or a few of them."""
    if "python" not in metafunc.fixturenames:
        return
    pythons = PYTHONS
    if metafunc.definition.get_closest_marker("few") and not os.environ.get("PYSTROBE_EVERY"):
        pythons = one_of_each(FEW.split())
    if metafunc.definition.get_closest_marker("releases") and not os.environ.get("PYSTROBE_EVERY"):
        pythons = one_a_version()
    metafunc.parametrize("python", pythons, ids=[entry["id"] for entry in pythons])


def pytest_itemcollected(item):
    """Notes in each report which Python it was about."""
    python = getattr(item, "callspec", None) and item.callspec.params.get("python")
    if python:
        item.user_properties.append(("python", python["id"]))
    if item.get_closest_marker("alone"):
        item.add_marker(pytest.mark.xdist_group("alone"))


@pytest.fixture(scope="session")
def pystrobe():
    path = os.path.abspath(os.environ.get("PYSTROBE", os.path.join(live.TREE, "build", "pystrobe")))
    if not os.access(path, os.X_OK):
        pytest.fail("%s is not there: run make first" % path)
    return live.Pystrobe(path)


@pytest.fixture
def start():
    """start(python, script, *args) runs a file of tests/targets; all end with the test."""
    running = []

    def start_one(python, script, *args):
        running.append(live.Target(live.command_of(python, script, *args)))
        return running[-1]

    yield start_one
    for target in running:
        with contextlib.suppress(BrokenPipeError):
            target.process.stdin.close()
    for target in running:
        target.stop()


@pytest.fixture
def trace_recording(pystrobe, tmp_path):
    """trace_recording(pid, rate, seconds, *options of strace): what a recording wrote to stderr, and strace of it."""
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")

    def trace(pid, rate, seconds, *options):
        path = tmp_path / "trace"
        done = subprocess.run([*live.root_words(), "strace", *options, "-o", path, pystrobe.path, "record", "--pid", str(pid), "-d",
                               "%ds" % seconds, "-r", str(rate), "-o", tmp_path / "out.pb.gz"],
                              check=True, capture_output=True, text=True)
        return done.stderr, path.read_text()

    return trace


@pytest.fixture
def start_quiet(start):
    """start_quiet(python, script, *args): what the program says of itself, once all its threads sleep."""
    def start_one(python, script, *args):
        own = start(python, script, *args).read_json()
        live.wait_until_asleep(own["pid"])
        return own

    return start_one


@pytest.fixture
def open_folder():
    """A folder that every user can look into, wherever the tree is: tmp_path may be below a private one."""
    with tempfile.TemporaryDirectory(prefix="pystrobe-test-", dir="/var/tmp") as folder:
        os.chmod(folder, 0o755)
        yield pathlib.Path(folder)


@pytest.fixture
def dead(open_folder):
    """dead(*words) mounts a file system that never answers a read: DeadFiles, which end with the test."""
    mounted = []

    def mount(*words):
        place = open_folder / "dead"
        place.mkdir()
        files = DeadFiles(place, *words)
        if not files.__enter__():
            live.unavailable("no FUSE: " + files.reason)
        mounted.append(files)
        return files

    yield mount
    for files in mounted:
        files.__exit__()


@pytest.fixture
def open_pystrobe(pystrobe, open_folder):
    """The program under test, where every user can run it."""
    return live.Pystrobe(shutil.copy(pystrobe.path, open_folder / "pystrobe"))


@pytest.fixture
def agent(pystrobe, tmp_path):
    """agent(text, words) runs an agent with this ini, under these words if there are any.

    It may use what CPU time and memory it needs, if the ini says no other: what a busy machine, or a
    sanitizer, makes of a few seconds is not to depend on a promise for minutes.
    """
    running = []

    def run(text, under=()):
        ini = tmp_path / ("agent%d.ini" % len(running))
        for key, most in (("max_cpu", "100%"), ("max_memory", "1GiB")):
            if key not in text:
                text = text.replace("[agent]\n", "[agent]\n%s = %s\n" % (key, most), 1)
        ini.write_text(text)
        running.append(Agent(pystrobe, ini, under))
        return running[-1]

    yield run
    for one in running:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()


def counts_by_python(reporter):
    counts = {}
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in reporter.stats.get(outcome, []):
            name = dict(getattr(report, "user_properties", [])).get("python")
            if name:
                counts.setdefault(name, {}).setdefault(outcome, 0)
                counts[name][outcome] += 1
    return counts


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """What the tests of a worker have to say at the end."""
    servers.told += getattr(node, "workeroutput", {}).get("servers", [])


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["servers"] = servers.told


def text_of_missing():
    """The versions that no test ran live with, those with one reason together."""
    names = {}
    for name, why in MISSING.items():
        names.setdefault(why, []).append(name)
    return "; ".join("%s (%s; memory images only)" % (", ".join(names[why]), why) for why in names) or "none"


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line("servers: " + servers.summary())
    counts = counts_by_python(terminalreporter)
    parts = [
        "%s %s" % (entry["id"], ", ".join("%d %s" % (n, word) for word, n in counts[entry["id"]].items()))
        for entry in PYTHONS if entry["id"] in counts
    ]
    if parts or MISSING:
        terminalreporter.write_line("live: %s; missing: %s" % ("; ".join(parts) or "no test", text_of_missing()))

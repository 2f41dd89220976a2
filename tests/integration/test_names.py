# SPDX-License-Identifier: Apache-2.0
"""Service names: what a person would say, for workers and titles, too, and why."""

import json
import os
import shutil
import subprocess
import sys
import textwrap

import pytest

import live

INI = """
[agent]
rate = 49Hz
interval = 1s
scan = 200ms
control = %(here)s/control.sock
[target mine]
env.NAMES_MARK = ^%(mark)s$
service = ${otel:service.name:-${script}}
[exporter out]
type = store
path = %(here)s/store
"""
AGENT_MARK = "env_allow = NAMES_MARK"
WAIT = "import sys; print('ready', flush=True); sys.stdin.read()"
POOL = """
    import multiprocessing, os, sys, threading

    def work(_):
        return os.getpid()

    if __name__ == "__main__":
        context = multiprocessing.get_context(sys.argv[1])
        with context.Pool(2) as pool:
            pids = set()
            while len(pids) < 2:
                pids.update(pool.map(work, range(50), chunksize=1))
            print(*pids, flush=True)
            sys.stdin.read()
"""
PARENT = """
    import subprocess, sys
    child = subprocess.Popen([sys.executable, "-c", %r], stdout=subprocess.PIPE, stdin=subprocess.PIPE)
    child.stdout.readline()
    print(child.pid, flush=True)
    sys.stdin.read()
    child.kill()
""" % WAIT

# Publishes a process context (OTEP 4719) of a library.
PUBLISHER = """
    import ctypes, mmap, os, struct, sys

    def message(number, content):
        return bytes([number << 3 | 2, len(content)]) + content

    def attribute(name, value):
        return message(1, message(1, name) + message(2, message(1, value)))

    payload = attribute(b"service.name", b"published") + attribute(b"telemetry.sdk.name", sys.argv[1].encode())
    kept = ctypes.create_string_buffer(payload, len(payload))
    fd = os.memfd_create("OTEL_CTX")
    os.ftruncate(fd, 4096)
    page = mmap.mmap(fd, 4096)
    os.close(fd)
    page[:32] = struct.pack("=8sIIQQ", b"OTEL_CTX", 2, len(payload), 1, ctypes.addressof(kept))
    print("ready", flush=True)
    sys.stdin.read()
"""


# Publishes when it is told to, and works from then on.
LATE_PUBLISHER = PUBLISHER.replace("payload =", 'print("ready", flush=True)\n    sys.stdin.readline()\n    payload =', 1).replace(
    'print("ready", flush=True)\n    sys.stdin.read()', '''import threading
    threading.Thread(target=lambda: [sum(range(1000)) for _ in iter(int, 1)], daemon=True).start()
    sys.stdin.read()''')


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))
    return path


@pytest.fixture
def begin(tmp_path):
    """begin(words, cwd, **variables) starts a program, waits for its first line, and gives (process, line)."""
    running = []

    def run(*words, cwd=None, **variables):
        env = dict(live.clean_environment(), NAMES_MARK=tmp_path.name, **variables)
        for name in ("OTEL_SERVICE_NAME", "DD_SERVICE"):
            if name not in variables:
                env.pop(name, None)
        process = subprocess.Popen(list(map(str, words)), cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        running.append(process)
        return process, process.stdout.readline()

    yield run
    for process in running:
        process.communicate(timeout=live.DEADLINE_S)


@pytest.fixture
def look(agent, pystrobe, tmp_path):
    """look(pids): {pid: (service, named_by)} as `status --json` has it, once all of these are sampled."""
    text = INI.replace("[agent]\n", "[agent]\n%s\n" % AGENT_MARK) % {"here": tmp_path, "mark": tmp_path.name}

    def run(pids):
        watching = agent(text)
        watching.wait_for(pids)
        told = []

        def are_there():
            told[:] = [one for one in pystrobe.status(tmp_path / "control.sock")["targets"] if one["state"] == "sampled"]
            return set(pids) <= {one["pid"] for one in told}

        live.wait_until(are_there, "all of them in status", 0.2)
        watching.stop()
        return {one["pid"]: (one["service"], one["named_by"]) for one in told}

    return run


def test_a_burst_of_a_name_that_is_published_later_reaches_its_process(begin, agent, pystrobe, tmp_path):
    control = tmp_path / "control.sock"
    text = INI.replace("[agent]\nrate = 49Hz", "[agent]\n%s\nmax_cpu = 50%%%%\nrate = 1Hz" % AGENT_MARK)
    watching = agent(text % {"here": tmp_path, "mark": tmp_path.name})
    live.wait_until(lambda: control.exists(), "the socket", 0.2)
    assert pystrobe.run("burst", "-r", "200", "-d", "10m", "--socket", control, "published").returncode == 0
    process, _ = begin(sys.executable, write(tmp_path / "late.py", LATE_PUBLISHER), "opentelemetry")
    watching.wait_for([process.pid])
    process.stdin.write("\n")
    process.stdin.flush()

    def has_burst():
        return [one for one in pystrobe.status(control)["targets"]
                if one["service"] == "published" and one["burst"] and one["samples"] > 500]

    live.wait_until(has_burst, "more samples than there are at one a second", 0.2)
    watching.stop()


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_workers_are_called_as_their_program(begin, look, tmp_path, method):
    process, line = begin(sys.executable, write(tmp_path / "shop.py", POOL), method)
    workers = list(map(int, line.split()))
    found = look([process.pid, *workers])

    assert {service for service, _ in found.values()} == {"shop"}
    assert found[process.pid] == ("shop", "script")
    if method == "spawn":
        assert all(found[pid][1] == "part of process %d (script)" % process.pid for pid in workers)


def test_code_is_called_as_the_python_above_it(begin, look, tmp_path):
    process, line = begin(sys.executable, write(tmp_path / "mother.py", PARENT))
    assert look([int(line)])[int(line)] == ("mother", "part of process %d (script)" % process.pid)


@pytest.mark.parametrize("variables, wanted", [
    ({"OTEL_SERVICE_NAME": "a", "OTEL_RESOURCE_ATTRIBUTES": "service.name=b", "DD_SERVICE": "c"}, ("a", "OTEL_SERVICE_NAME")),
    ({"OTEL_RESOURCE_ATTRIBUTES": "service.name=b", "DD_SERVICE": "c"}, ("b", "service.name of OTEL_RESOURCE_ATTRIBUTES")),
    ({"DD_SERVICE": "c"}, ("c", "DD_SERVICE")),
    ({"OTEL_RESOURCE_ATTRIBUTES": "k8s.deployment.name=d"}, ("shop", "script")),
])
def test_what_the_environment_says_goes_first(begin, look, tmp_path, variables, wanted):
    process, _ = begin(sys.executable, write(tmp_path / "shop.py", WAIT), **variables)
    assert look([process.pid])[process.pid] == wanted


@pytest.mark.parametrize("library, variables, wanted", [
    ("opentelemetry", {}, ("published", "OpenTelemetry SDK")),
    ("opentelemetry", {"DD_SERVICE": "declared"}, ("declared", "DD_SERVICE")),
    ("libdatadog", {}, ("shop", "script")),
])
def test_what_an_sdk_publishes_counts_unless_it_was_made_up(begin, look, tmp_path, library, variables, wanted):
    process, _ = begin(sys.executable, write(tmp_path / "shop.py", PUBLISHER), library, **variables)
    assert look([process.pid])[process.pid] == wanted


def test_a_reloader_and_what_it_runs_are_one_service(begin, look, tmp_path):
    code = """
        import os, subprocess, sys
        if "RUN_MAIN" in os.environ:
            print(os.getpid(), flush=True)
            sys.stdin.read()
        else:
            child = subprocess.Popen([sys.executable, *sys.argv], env=dict(os.environ, RUN_MAIN="true", DJANGO_SETTINGS_MODULE="mysite.settings"))
            child.wait()
    """
    process, line = begin(sys.executable, write(tmp_path / "bookshop" / "manage.py", code), "runserver")
    found = look([process.pid, int(line)])
    assert {service for service, _ in found.values()} == {"bookshop"}


def test_a_tool_that_does_not_say_what_it_runs_is_called_as_its_folder(begin, look, tmp_path):
    manage = write(tmp_path / "site" / "manage.py", WAIT)
    settled, _ = begin(sys.executable, manage, "runserver", DJANGO_SETTINGS_MODULE="mysite.settings")
    folder, _ = begin(sys.executable, "manage.py", "runserver", cwd=tmp_path / "site")
    shutil.rmtree(tmp_path / "site")  # the kernel says so behind the path
    found = look([settled.pid, folder.pid])

    assert found[settled.pid] == ("mysite", "DJANGO_SETTINGS_MODULE")
    assert found[folder.pid] == ("site", "folder of manage")


def test_folders_that_say_nothing_are_passed_over(begin, look, tmp_path):
    manage = write(tmp_path / "shop" / "releases" / "20240101123456" / "manage.py", WAIT)
    process, _ = begin(sys.executable, manage, "runserver")
    assert look([process.pid])[process.pid] == ("shop", "folder of manage")


def test_a_dry_run_says_why(begin, pystrobe, tmp_path):
    ini = tmp_path / "dry.ini"
    ini.write_text(INI.replace("[agent]\n", "[agent]\n%s\n" % AGENT_MARK) % {"here": tmp_path, "mark": tmp_path.name})
    process, _ = begin(sys.executable, write(tmp_path / "shop.py", WAIT), DD_SERVICE="dog\x1b[31m")
    done = pystrobe.run("agent", "-c", ini, "--dry-run")

    assert done.returncode == 0
    lines = done.stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if line.split()[0] == str(process.pid))
    assert lines[at + 1].strip() == r"called so by DD_SERVICE; sources: DD_SERVICE = dog\x1b[31m, script = shop"


def test_names_are_in_the_profiles(begin, look, tmp_path):
    process, line = begin(sys.executable, write(tmp_path / "shop.py", POOL), "spawn")
    look([process.pid, *map(int, line.split())])
    folders = sorted(os.listdir(tmp_path / "store"))
    assert json.dumps(folders).count("shop") >= 1 and not any("python" in one for one in folders)


@pytest.mark.releases
@pytest.mark.parametrize("title", ["short", "gunicorn: worker [shop]", "python shop.py --db postgres://u:s3cr3t@h/x"])
def test_a_title_hides_neither_the_program_nor_its_environment(python, begin, look, title):
    process, _ = begin(*live.command_of(python, "titled.py", title))
    named, _ = begin(*live.command_of(python, "titled.py", title), OTEL_SERVICE_NAME="declared")
    found = look([process.pid, named.pid])

    assert found[process.pid] == ("titled", "script")
    assert found[named.pid] == ("declared", "OTEL_SERVICE_NAME")

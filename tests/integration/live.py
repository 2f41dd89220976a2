# SPDX-License-Identifier: Apache-2.0
"""Starts programs under any of the found Pythons, in their root where they have one."""

import contextlib
import fcntl
import glob
import json
import os
import random
import select
import shlex
import shutil
import socket
import subprocess
import sys
import time

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TREE = os.path.dirname(TESTS)
TARGETS = os.path.join(TESTS, "targets")
INSIDE = "/srv/pystrobe-tests"  # where a root keeps the scripts
SANITIZED = bool(os.environ.get("PYSTROBE_ONLY"))  # such builds take memory of their own
DEADLINE_S = 120  # for what takes no time on an idle machine; a busy one may be slow, but not for ever
STOP_S = 0.5
PORTS = 10000, 32000  # below ip_local_port_range
SHORT_WAIT_S = 0.03  # longer than a thread waits for the GIL at a time

sys.path.insert(0, os.path.join(TESTS, "setup"))
import pythons  # noqa: E402
import roots  # noqa: E402


def load_pythons():
    """Gives (interpreters, missing) from the list that `make test` wrote, or by looking."""
    path = os.environ.get("PYSTROBE_PYTHONS")
    if not path:
        return pythons.find()
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    missing = {line["missing"]: line["why"] for line in lines if "missing" in line}
    return [line for line in lines if "id" in line], missing


@contextlib.contextmanager
def to_be_made(path, sources):
    """Whether a file is missing or older than its sources. Nobody else makes it meanwhile."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield not os.path.exists(path) or os.path.getmtime(path) < max(os.path.getmtime(source) for source in sources)


def is_chroot():
    """Whether this is a folder of some system: there, no namespace has mounts of its own."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        return not any(line.split()[4] == "/" for line in file)


def unavailable(why):
    """Leaves the test out, for want of rights. A CI has them."""
    import pytest  # which benchmarks do without

    (pytest.fail if os.environ.get("CI") == "true" and not is_chroot() else pytest.skip)(why)


def without_library(name):
    """The words that run a command where a shared library cannot be loaded."""
    words = ["unshare", "-m", "sh", "-c", 'for file in $(ldconfig -p | sed -n "s/.*%s.* => //p"); do '
             'mount --bind /dev/null "$file" || exit; done; exec "$@"' % name, "-"]
    if subprocess.run(words + ["true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        unavailable("no mount namespace can be made here")
    return words


def root_words():
    """The words that run a command as root, none where that cannot be had."""
    try:
        return roots.as_root()
    except roots.Unavailable:
        return []


def put_script(python, script):
    """Makes a file of tests/targets visible to that Python; gives its path there."""
    source = script if os.path.isabs(script) else os.path.join(TARGETS, script)
    if not python["root"]:
        return source
    inner = os.path.join(INSIDE, os.path.basename(source))
    outside = python["root"] + inner
    # By rename: a test beside this one may be starting the same script. Not if it is there: a file that is newer than
    # the process that runs it is told from others.
    put = 'cmp -s "$1" "$2" || { install -D -m 644 "$1" "$2.$$" && mv -f "$2.$$" "$2"; }'
    subprocess.run(root_words() + ["sh", "-c", put, "put", source, outside], check=True)
    return inner


def command_of(python, script, *args):
    """The command line that runs a script under that Python."""
    words = [python["inner"], put_script(python, script)] + [str(arg) for arg in args]
    if python["root"]:
        return root_words() + ["chroot", python["root"]] + words
    return words


def outside_command(python):
    """Runs an interpreter of a root from outside of it, as where it needs /proc: (words, environment)."""
    root = python["root"]
    if not root:
        return [python["exe"]], clean_environment()
    loaders = glob.glob(root + "/lib*/ld-linux-*.so.*")
    folders = glob.glob(root + "/usr/lib/*-linux-gnu")
    if not loaders or not folders:
        raise roots.Unavailable("the root of Python %s cannot be used from outside" % python["version"])
    words = root_words() + ["env", "PYTHONHOME=%s%s" % (root, python["prefix"]), loaders[0],
                            "--library-path", folders[0], root + python["inner"]]
    return words, clean_environment()


def wait_until(condition, what, pause_s=0.005):
    """Gives what condition() gives once that is true."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise TimeoutError("not within %d s: %s" % (DEADLINE_S, what))
        time.sleep(pause_s)


def run_at_once(pid):
    """From now on a program of ours has a CPU whenever it can run, whatever else runs on this machine."""
    subprocess.run([*root_words(), "chrt", "--all-tasks", "--rr", "--pid", "1", str(pid)], check=True)


def free_ports(count):
    """Ports that nobody has now. They are not of those that the kernel gives to connections and to other tests' servers."""
    found = set()
    while len(found) < count:
        port = random.randrange(*PORTS)
        with contextlib.suppress(OSError), socket.socket() as one:
            one.bind(("127.0.0.1", port))
            found.add(port)
    return list(found)


def tids_of(pid):
    return [int(tid) for tid in os.listdir("/proc/%d/task" % pid)]


def children_of(pid):
    """The processes that a process has started and not yet lost, whichever thread did."""
    found = []
    for tid in tids_of(pid):
        with open("/proc/%d/task/%d/children" % (pid, tid), encoding="ascii") as file:
            found += [int(child) for child in file.read().split()]
    return found


def fds_of(pid):
    return os.listdir("/proc/%d/fd" % pid)


def state_of(pid, tid):
    """The kernel's letter for what a thread does: R, S, T ..."""
    with open("/proc/%d/task/%d/stat" % (pid, tid), encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[0]


def turns_of(pid, tid):
    """How many times a thread has had a CPU."""
    with open("/proc/%d/task/%d/schedstat" % (pid, tid), encoding="ascii") as file:
        return int(file.read().split()[2])


def wait_until_asleep(pid, tids=None):
    """Waits until these threads, or all, sleep for long: not only until they get the GIL."""
    def are_asleep():
        wanted = tids or tids_of(pid)
        turns = [turns_of(pid, tid) for tid in wanted]
        if any(state_of(pid, tid) != "S" for tid in wanted):
            return False
        time.sleep(SHORT_WAIT_S)
        return turns == [turns_of(pid, tid) for tid in wanted]

    wait_until(are_asleep, "threads of %d fall asleep" % pid)


def words_of_target(script):
    """The words that run a file of tests/targets, whoever runs it: another user may not look into this tree."""
    with open(os.path.join(TARGETS, script), encoding="utf-8") as file:
        return ["/usr/bin/python3", "-c", file.read()]


def clean_environment(**more):
    """What a target inherits: nothing that bends a Python."""
    return dict({"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8",
                 "PYTHONDONTWRITEBYTECODE": "1"}, **more)


class Target:
    """A running program that prints JSON lines and ends when its standard input does."""

    def __init__(self, argv, env=None):
        self.process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env or clean_environment(), cwd="/"
        )
        self._pending = b""

    @property
    def pid(self):
        """The pid of what was started (of sudo, where that was needed: then ask the program)."""
        return self.process.pid

    def read_json(self, timeout_s=DEADLINE_S):
        """The next line it prints, decoded."""
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._pending:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise TimeoutError("the target printed nothing for %d s" % timeout_s)
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            if not data:
                raise EOFError("the target ended with status %s" % self.process.wait())
            self._pending += data
        line, self._pending = self._pending.split(b"\n", 1)
        return json.loads(line.decode())

    def end(self, timeout_s=DEADLINE_S):
        """Asks it to end by closing its input; gives the exit status."""
        if not self.process.stdin.closed:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
        return self.process.wait(timeout_s)

    def stop(self):
        """Ends it by any means. One that does not read its input, or is stopped, is killed soon."""
        try:
            self.end(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class Pystrobe:
    """The program under test."""

    def __init__(self, path):
        self.path = path
        self.words = root_words() + shlex.split(os.environ.get("PYSTROBE_RUN", ""))

    def start(self, *args, **options):
        return subprocess.Popen(self.words + [self.path] + [str(arg) for arg in args], **options)

    def run(self, *args, timeout_s=DEADLINE_S, env=None):
        """Gives the finished process, with its stdout and stderr as text."""
        return subprocess.run(
            self.words + [self.path] + [str(arg) for arg in args], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", timeout=timeout_s,
            check=False, env=env,
        )

    def dump(self, pid, *words):
        """`pystrobe dump --json` of a process, decoded."""
        done = self.run("dump", "--pid", pid, "--json", *words)
        assert done.returncode == 0, "dump ended with %d: %s" % (done.returncode, done.stderr)
        return json.loads(done.stdout)

    def status(self, socket):
        """What the agent at that control socket says of itself."""
        done = self.run("status", "--json", "--socket", socket)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def stats_in(errors):
    """What `record --stats=json` says among its other messages."""
    return json.loads(next(line for line in errors.splitlines() if line.startswith("{")))


def copy_of(python, folder):
    """Copies the interpreter and its libpython into `folder`; gives (path inside the root, environment).

    `folder` is as seen inside the root. Such a copy can be deleted while it runs.
    """
    outside = python["root"] + folder
    env = clean_environment(PYTHONHOME=python["prefix"])
    os.makedirs(outside, exist_ok=True)
    shutil.copy(os.path.realpath(python["exe"]), outside)
    if python["library"]:
        shutil.copy(python["root"] + python["library"], outside)
        env["LD_LIBRARY_PATH"] = folder
    return os.path.join(folder, os.path.basename(os.path.realpath(python["exe"]))), env

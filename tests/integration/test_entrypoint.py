# SPDX-License-Identifier: Apache-2.0
"""pystrobe exec as the first process of a container: under runc, and of a pid namespace next to tini."""

import concurrent.futures
import json
import os
import shutil
import signal
import subprocess

import pytest

import live
import profiles

pytestmark = pytest.mark.long

PYTHON = "/usr/bin/python3"
SECCOMP = "/usr/share/containers/seccomp.json"  # what podman and, but for details, Docker use
# What Docker gives a container's root.
DOCKER = ["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FSETID", "CAP_FOWNER", "CAP_MKNOD", "CAP_NET_RAW", "CAP_SETGID",
          "CAP_SETUID", "CAP_SETFCAP", "CAP_SETPCAP", "CAP_NET_BIND_SERVICE", "CAP_SYS_CHROOT", "CAP_KILL",
          "CAP_AUDIT_WRITE"]
BURNS = """
import os, sys, time
print(os.getpid(), os.getppid(), flush=True)
def burn():
    while time.process_time() < 2: sum(range(1000))
burn()
sys.exit(7)
"""


def seccomp(capabilities, without=()):
    """The runtime's default profile as an OCI bundle has it."""
    with open(SECCOMP, encoding="utf-8") as file:
        profile = json.load(file)
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
    calls = []
    for rule in profile["syscalls"]:
        includes, excludes = rule.get("includes") or {}, rule.get("excludes") or {}
        if includes.get("caps") and not set(includes["caps"]) <= set(capabilities):
            continue
        if set(excludes.get("caps") or ()) & set(capabilities) or machine in (excludes.get("arches") or ()):
            continue
        if includes.get("arches") and machine not in includes["arches"]:
            continue
        names = [name for name in rule["names"] if name not in without]
        if names:
            calls.append({key: rule[key] for key in ("action", "args", "errnoRet") if rule.get(key)} | {"names": names})
    return {"defaultAction": profile["defaultAction"], "defaultErrnoRet": 38,
            "architectures": ["SCMP_ARCH_X86_64" if machine == "amd64" else "SCMP_ARCH_AARCH64"], "syscalls": calls}


class Container:
    """Runs commands by runc on this machine's own files, read-only but for /run."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "rootfs").mkdir()
        (folder / "run").mkdir(mode=0o777)
        (folder / "run").chmod(0o777)
        subprocess.run(["runc", "spec"], cwd=folder, check=True)
        self.spec = json.loads((folder / "config.json").read_text())
        self.count = 0

    def run(self, words, user=0, capabilities=DOCKER, without=()):
        spec = json.loads(json.dumps(self.spec))
        held = capabilities if user == 0 else []
        spec["process"].update(terminal=False, args=[str(word) for word in words], rlimits=[],
                               user={"uid": user, "gid": user}, env=["PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"],
                               capabilities={"bounding": capabilities, "permitted": held, "effective": held})
        spec["root"] = {"path": str(self.folder / "rootfs"), "readonly": True}
        spec["mounts"] = [mount for mount in spec["mounts"] if mount["type"] != "cgroup"]
        spec["mounts"].append({"destination": "/run", "type": "bind", "source": str(self.folder / "run"),
                               "options": ["bind", "rw"]})
        spec["linux"]["seccomp"] = seccomp(capabilities, without)
        (self.folder / "config.json").write_text(json.dumps(spec))
        self.count += 1
        name = "pystrobe-%d-%d" % (os.getpid(), self.count)
        inside = 'mount --bind / "$1/rootfs" && cd "$1" && exec runc run "$2"'
        return subprocess.run(["unshare", "-m", "sh", "-c", inside, "-", str(self.folder), name],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=live.DEADLINE_S)


@pytest.fixture
def container(tmp_path):
    if os.geteuid() != 0 or not shutil.which("runc") or not os.path.exists(SECCOMP):
        pytest.skip("needs root, runc and %s" % SECCOMP)
    one = Container(tmp_path)
    first = one.run(["true"])
    if first.returncode != 0:
        pytest.skip("runc does not work here: " + first.stderr)
    return one


# user, what else: that the command's Python is profiled, without a word.
SETUPS = {
    "root, as Docker starts it": {},
    "a plain user, no capability": {"user": 1000},
    "root, no capability": {"capabilities": []},
    "a plain user, a profile without process_vm_readv": {"user": 1000, "without": ["process_vm_readv", "ptrace"]},
    "root, a profile without process_vm_readv": {"without": ["process_vm_readv", "ptrace"]},
    "root, CAP_SYS_PTRACE added": {"capabilities": DOCKER + ["CAP_SYS_PTRACE"]},
}


@pytest.mark.parametrize("setup", SETUPS)
def test_in_a_container_the_command_is_profiled(pystrobe, container, setup):
    done = container.run([pystrobe.path, "exec", "--store", "/run/store", "-n", "burner", "--", PYTHON, "-c", BURNS],
                         **SETUPS[setup])

    assert (done.returncode, done.stderr) == (7, "")
    app, parent = done.stdout.split()
    assert parent == "1" and app != "1"
    found = profiles.in_store(container.folder / "run" / "store", "burner")
    assert profiles.total(found, "cpu", lambda sample: any(one["func"] == "burn" for one in sample["stack"])) > 1e9


def test_what_cannot_be_profiled_runs_and_is_told(pystrobe, container):
    drop = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", PYTHON, "-c", BURNS]

    done = container.run([pystrobe.path, "exec", "--store", "/run/store", "--"] + drop)
    mended = container.run([pystrobe.path, "exec", "--store", "/run/store2", "--"] + drop,
                           capabilities=DOCKER + ["CAP_SYS_PTRACE"])

    assert done.returncode == 7 and len(done.stderr.splitlines()) == 1
    assert "belongs to another user" in done.stderr and "--cap-add SYS_PTRACE" in done.stderr
    assert (mended.returncode, mended.stderr) == (7, "")


@pytest.mark.parametrize("suite", ["test_subprocess", "test_signal"])
def test_pythons_own_tests_of_processes_pass_below_it(pystrobe, tmp_path, suite):
    if subprocess.run([PYTHON, "-c", "import test." + suite]).returncode != 0:
        pytest.fail("Python's own tests are not there: make deps")

    done = subprocess.run([pystrobe.path, "exec", "--store", str(tmp_path / "store"), "--", PYTHON, "-m", "test", suite],
                          cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)

    assert done.returncode == 0, done.stdout[-4000:]


# As the first process of a pid namespace, next to tini

FIRST = ["unshare", "-pf", "--mount-proc", "--kill-child"]


@pytest.fixture
def first():
    if subprocess.run(FIRST + ["true"], stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("no pid namespace can be made here")
    if not shutil.which("tini"):
        pytest.fail("tini is not there: make deps")


def test_all_exit_statuses_are_those_of_tini(pystrobe, tmp_path, first):
    def statuses(status):
        words = ["sh", "-c", "exit %d" % status]
        ours = FIRST + [pystrobe.path, "exec", "--store", str(tmp_path / "store"), "--"] + words
        return [subprocess.run(one, timeout=live.DEADLINE_S, stderr=subprocess.PIPE).returncode
                for one in (ours, FIRST + ["tini", "--"] + words)]

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(statuses, range(256))) == [[status, status] for status in range(256)]


@pytest.mark.parametrize("number", sorted(signal.valid_signals() - {signal.SIGCHLD}))
def test_deaths_by_signals_are_those_of_tini(pystrobe, tmp_path, first, number):
    words = ["sh", "-c", "ulimit -c 0; kill -%d $$; kill -CONT $PPID; exit 3" % number]
    if number in (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
        pytest.skip("it stops")

    ours = subprocess.run(FIRST + [pystrobe.path, "exec", "--store", str(tmp_path / "store"), "--"] + words,
                          timeout=live.DEADLINE_S)
    theirs = subprocess.run(FIRST + ["tini", "--"] + words, timeout=live.DEADLINE_S)

    assert ours.returncode == theirs.returncode


def test_orphans_of_the_first_process_are_reaped(pystrobe, tmp_path, first):
    script = "for i in $(seq 200); do (true & ) & done; wait; exec %s -c '%s'" % (PYTHON, """
import os
def state(pid):
    try:
        return open("/proc/%s/stat" % pid).read().rpartition(")")[2].split()[0]
    except OSError:
        return None
while any(state(pid) == "Z" for pid in os.listdir("/proc") if pid.isdigit()):
    pass
raise SystemExit(17)""")

    done = subprocess.run(FIRST + [pystrobe.path, "exec", "--store", str(tmp_path / "store"), "--", "sh", "-c", script],
                          timeout=live.DEADLINE_S)

    assert done.returncode == 17

# SPDX-License-Identifier: Apache-2.0
"""A Debian of its own, booted with systemd as process 1, that forgets all when it ends.

It is a cached root (tests/setup/roots.py) under systemd-nspawn, with a layer in memory above it:
nothing that is done in there reaches the disk. It has the network of this machine.
"""

import contextlib
import os
import re
import signal
import subprocess
import time

import roots

SUITE = "bookworm"
PACKAGES = ["systemd", "systemd-sysv", "dbus", "procps", "python3", "ca-certificates"]
MASKED = ["apt-daily.timer", "apt-daily-upgrade.timer"]  # these would hold apt's locks when we want them
APT_GET = "apt-get -q -y -o Acquire::Retries=5 -o DPkg::Lock::Timeout=300 --no-install-recommends "
BOOT_S = 120
WAIT_S = 90
COMMAND_S = 600
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def why_not():
    """Why there can be no such machine here; None: there can be."""
    if os.geteuid() != 0:
        return "booting a system needs root"
    tried = subprocess.run(["unshare", "--mount", "--pid", "--fork", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
                           stderr=subprocess.PIPE, check=False)
    return "no namespaces may be made here: %s" % tried.stderr.decode().strip() if tried.returncode else None


def wait_until(what, holds, seconds=WAIT_S):
    """What `holds` gives once it is true of something; fails after `seconds`."""
    end = time.monotonic() + seconds
    while True:
        value = holds()
        if value:
            return value
        assert time.monotonic() < end, "waited %d s in vain: %s" % (seconds, what)
        time.sleep(0.2)


def first_process_below(pid):
    """The process that is 1 in a pid namespace which descendants of `pid` made; None: not yet."""
    parents, firsts = {}, []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open("/proc/%s/status" % name, encoding="utf-8", errors="replace") as file:
            text = file.read()
            parents[int(name)] = int(re.search(r"^PPid:\s+(\d+)", text, re.MULTILINE)[1])
            if re.search(r"^NSpid:\t\d+\t1$", text, re.MULTILINE):
                firsts.append(int(name))
    for first in firsts:
        above = first
        while above in parents and above != pid:
            above = parents[above]
        if above == pid:
            return first
    return None


class Machine:
    def __init__(self, log_path, say):
        self.root = roots.ensure(SUITE, "booted", PACKAGES, True, say)
        self.log = open(log_path, "wb")
        self.pid = None
        name = "pystrobe-%d" % os.getpid()
        self.nspawn = subprocess.Popen(
            ["systemd-nspawn", "-D", self.root, "--volatile=overlay", "--register=no", "--keep-unit", "-M", name,
             "--link-journal=no", "--boot"] + ["systemd.mask=" + unit for unit in MASKED],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT)
        try:
            self.pid = wait_until("the machine starts", lambda: first_process_below(self.nspawn.pid), BOOT_S)
            wait_until("the machine is up", self.is_up, BOOT_S)
        except BaseException:
            self.stop()
            raise

    def is_up(self):
        return self.run("systemctl is-system-running", check=False).strip() in ("running", "degraded")

    def run(self, script, *args, check=True, stdin=b""):
        """A shell script in there, as root; gives what it printed."""
        done = self.try_run(script, *args, stdin=stdin)
        text = done.stdout.decode(errors="replace")
        assert not check or done.returncode == 0, "%s\nended with %d:\n%s" % (script, done.returncode, text)
        return text

    def try_run(self, script, *args, stdin=b""):
        enter = ["nsenter", "-t", str(self.pid), "-m", "-u", "-i", "-n", "-p", "env", "-i", "PATH=" + PATH,
                 "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"]
        return subprocess.run(enter + ["sh", "-euc", script, "sh"] + [str(arg) for arg in args], input=stdin,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=COMMAND_S, check=False)

    def install(self, *packages):
        """Installs packages by name, or files, with what they depend on."""
        self.run(APT_GET + "update")
        self.run(APT_GET + 'install "$@"', *packages)

    def write(self, path, text, mode="644"):
        data = text if isinstance(text, bytes) else text.encode()
        self.run('mkdir -p "$(dirname "$1")"; cat >"$1"; chmod "$2" "$1"', path, mode, stdin=data)

    def read(self, path):
        return self.run('cat "$1"', path)

    def show(self, unit, name):
        """A property of a unit, as systemctl show has it."""
        return self.run('systemctl show -P "$2" "$1"', unit, name).strip()

    def stop(self):
        """Ends it at once: there is nothing in it to be kept. All in it goes with its first process."""
        if self.nspawn.poll() is None:
            if self.pid:
                os.kill(self.pid, signal.SIGKILL)
            else:
                self.nspawn.terminate()
            self.nspawn.wait(60)
        self.log.close()

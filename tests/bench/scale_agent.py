# SPDX-License-Identifier: Apache-2.0
"""Runs an agent on a host of many Python processes and measures what it takes."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ATTACH_S = 120  # until all processes must be sampled
COUNT_S = 3  # in which system calls are counted

INI = """[agent]
rate = %(rate)gHz
interval = 15s
max_cpu = %(max_cpu)s
control = %(folder)s/control
max_memory = 1GiB
[target scale]
cmdline = %(mark)s
[exporter local]
type = store
path = %(store)s
"""


def tree(pid):
    """A process and its descendants."""
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            parents.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(entry.name))
    found = [pid]
    for one in found:
        found += parents.get(one, [])
    return found


def cpu_s(pid):
    return time.clock_gettime(~pid << 3 | 2)  # as clock_getcpuclockid makes it


def waited_for_s(pid):
    """CPU time of the children that a process had and has waited for."""
    fields = pathlib.Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def used_s(pid):
    """CPU time of a process and of all that it has started, those that have ended included."""
    total = 0.0
    for one in tree(pid):
        try:
            total += cpu_s(one) + waited_for_s(one)
        except OSError:  # it has just ended
            pass
    return total


def memory(pid):
    """Its RSS and PSS, in KiB."""
    try:
        text = pathlib.Path("/proc/%d/smaps_rollup" % pid).read_text()
    except OSError:  # it has ended
        return [0, 0]
    return [int(re.search(r"^%s:\s+(\d+)" % name, text, re.M).group(1)) for name in ("Rss", "Pss")]


def entries(folder):
    """What is in a folder; nothing where its process has ended."""
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def files(pids):
    """Open files of all of them, and how many of these are processes that are held."""
    links = []
    for entry in (entry for pid in pids for entry in entries(pathlib.Path("/proc/%d/fd" % pid))):
        with contextlib.suppress(OSError):  # it was closed
            links.append(os.readlink(entry))
    return len(links), sum("pidfd" in link for link in links)


def wait_for_all(agent, count):
    deadline = time.monotonic() + ATTACH_S
    while time.monotonic() < deadline:
        if agent.poll() is not None:
            sys.exit("the agent ended")
        if files(tree(agent.pid))[1] >= count:
            return
        time.sleep(0.5)
    sys.exit("only %d of %d processes are sampled" % (files(tree(agent.pid))[1], count))


def measure(agent, seconds):
    """Watches the agent for a while."""
    begin, start = used_s(agent.pid), time.monotonic()
    time.sleep(seconds)
    used, passed = used_s(agent.pid) - begin, time.monotonic() - start
    pids = tree(agent.pid)
    sizes = [memory(pid) for pid in pids]
    return {"cpu": used / passed, "rss_mib": sum(size[0] for size in sizes) / 1024,
            "pss_mib": sum(size[1] for size in sizes) / 1024, "files": files(pids)[0]}


def calls_per_s(pids):
    """System calls of these processes, as the kernel's tracepoint counts them; None where perf cannot ask it."""
    if not shutil.which("perf"):
        return None
    words = ["perf", "stat", "-x,", "-e", "raw_syscalls:sys_enter", "-p", ",".join(map(str, pids)), "--", "sleep",
             str(COUNT_S)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    found = re.search(r"^(\d+),", done.stderr, re.M)
    return int(found.group(1)) / COUNT_S if found and done.returncode == 0 else None


def rate_now(program, control):
    """The median rate of the targets, in Hz."""
    done = subprocess.run([program, "status", "--json", "--socket", str(control)], capture_output=True, text=True, check=True)
    return statistics.median(target["rate_hz"] for target in json.loads(done.stdout)["targets"])


def stop(agent, log):
    """Ends the agent; gives the samples that it says it took."""
    agent.send_signal(signal.SIGTERM)
    agent.wait(60)
    found = re.search(r"stopped: (\d+) samples", log.read_text())
    return int(found.group(1)) if found else 0


@contextlib.contextmanager
def targets(python, point, fresh):
    """The processes of a row; gives their mark, by which the agent knows them."""
    mark = "scale-%d-%d" % (os.getpid(), point.processes)
    words = [python, HERE / "targets" / "idlers.py", mark, point.processes, point.threads, point.every, point.work,
             point.depth] + ["fresh"] * fresh
    started = subprocess.Popen(list(map(str, words)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        if not started.stdout.readline().startswith("ready"):
            sys.exit("the processes did not start")
        yield mark
    finally:
        started.stdin.close()
        started.wait(60)


# Far more than any bar, so that nothing is left out for it, and less than a core, which one sampler is for.
UNLIMITED = "75%"


def run(program, mark, point, settle_s, seconds, max_cpu=UNLIMITED):
    """What an agent of that executable takes on the running targets."""
    with tempfile.TemporaryDirectory(prefix="pystrobe-scale-") as name:
        folder = pathlib.Path(name)
        ini, log = folder / "scale.ini", folder / "agent.log"
        ini.write_text(INI % {"rate": point.rate, "mark": mark, "folder": folder, "store": folder / "store", "max_cpu": max_cpu})
        with log.open("w") as out:
            agent = subprocess.Popen([program, "agent", "-c", str(ini)], stderr=out)
        started = time.monotonic()
        try:
            wait_for_all(agent, point.processes)
            time.sleep(settle_s)
            row = measure(agent, seconds)
            calls = calls_per_s(tree(agent.pid))
            row["rate_hz"] = rate_now(program, folder / "control")
            ticks = (point.processes + 1) * point.rate  # the process that forked the others bears the mark, too
            row["calls"] = calls and calls / ticks
            lived = time.monotonic() - started
            row["samples_per_s"] = stop(agent, log) / lived
            row["kept"] = row["samples_per_s"] / ticks
        finally:
            if agent.poll() is None:
                agent.kill()
                agent.wait()
    return row

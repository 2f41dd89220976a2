# SPDX-License-Identifier: Apache-2.0
"""What the agent costs on a host with many Python processes: CPU, memory and open files.

The processes are forked from one interpreter (targets/idlers.py), so that they fit into memory;
each has its own threads and its own Python stacks. One thread of each works a little now and then.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ATTACH_S = 120  # until all processes must be sampled

INI = """[agent]
rate = %(rate)gHz
interval = 15s
max_cpu = 100%%
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


def memory(pid):
    """Its RSS and PSS, in KiB."""
    text = pathlib.Path("/proc/%d/smaps_rollup" % pid).read_text()
    return [int(re.search(r"^%s:\s+(\d+)" % name, text, re.M).group(1)) for name in ("Rss", "Pss")]


def files(pids):
    """Open files of all of them, and how many of these are processes that are held."""
    links = []
    for pid in pids:
        for entry in pathlib.Path("/proc/%d/fd" % pid).iterdir():
            try:
                links.append(os.readlink(entry))
            except OSError:
                pass
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
    pids = tree(agent.pid)
    begin, start = sum(map(cpu_s, pids)), time.monotonic()
    time.sleep(seconds)
    used, passed = sum(map(cpu_s, pids)) - begin, time.monotonic() - start
    sizes = [memory(pid) for pid in pids]
    return {"cpu": used / passed, "rss_mib": sum(size[0] for size in sizes) / 1024,
            "pss_mib": sum(size[1] for size in sizes) / 1024, "files": files(pids)[0], "processes": len(pids)}


def stop(agent, log):
    """Ends the agent; gives the samples that it says it took."""
    agent.send_signal(signal.SIGTERM)
    agent.wait(60)
    found = re.search(r"stopped: (\d+) samples", log.read_text())
    return int(found.group(1)) if found else 0


def run_point(args, processes, folder):
    """One row of the table."""
    mark = "scale-%d-%d" % (os.getpid(), processes)
    targets = subprocess.Popen([args.python, str(HERE / "targets" / "idlers.py"), mark, str(processes),
                                str(args.threads), str(args.every), str(args.work)],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        if not targets.stdout.readline().startswith("ready"):
            sys.exit("the processes did not start")
        ini, log = folder / "scale.ini", folder / "agent.log"
        ini.write_text(INI % {"rate": args.rate, "mark": mark, "store": folder / "store"})
        with log.open("w") as out:
            agent = subprocess.Popen([str(pathlib.Path(args.build) / "pystrobe"), "agent", "-c", str(ini)],
                                     stderr=out)
        started = time.monotonic()
        try:
            wait_for_all(agent, processes)
            time.sleep(args.settle)
            row = measure(agent, args.seconds)
            lived = time.monotonic() - started
            row["samples_per_s"] = stop(agent, log) / lived
        finally:
            if agent.poll() is None:
                agent.kill()
                agent.wait()
    finally:
        targets.stdin.close()
        targets.wait(60)
    return dict(row, targets=processes, threads=args.threads, rate=args.rate)


def print_table(rows):
    print("%9s %8s %8s %10s %10s %9s %9s %7s" % (
        "processes", "threads", "rate", "samples/s", "% of core", "RSS MiB", "PSS MiB", "files"))
    for row in rows:
        print("%9d %8d %8g %10.0f %10.2f %9.1f %9.1f %7d" % (
            row["targets"], row["threads"], row["rate"], row["samples_per_s"], 100 * row["cpu"], row["rss_mib"],
            row["pss_mib"], row["files"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--processes", type=int, nargs="+", default=[10, 50, 200, 500, 1000])
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--rate", type=float, default=19)
    parser.add_argument("--every", type=float, default=10, help="seconds between two pieces of work of a process")
    parser.add_argument("--work", type=float, default=1, help="milliseconds of CPU time of one")
    parser.add_argument("--seconds", type=float, default=10, help="that each point is watched")
    parser.add_argument("--settle", type=float, default=3, help="seconds to wait before that")
    parser.add_argument("--rounds", type=int, default=1, help="the median of so many is shown")
    parser.add_argument("--json")
    args = parser.parse_args()
    rows = []
    for processes in args.processes:
        found = []
        for _ in range(args.rounds):
            with tempfile.TemporaryDirectory(prefix="pystrobe-scale-") as folder:
                found.append(run_point(args, processes, pathlib.Path(folder)))
        rows.append({key: statistics.median(row[key] for row in found) for key in found[0]})
    print_table(rows)
    if args.json:
        pathlib.Path(args.json).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(args.json).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""What the agent costs on a host with many Python processes: CPU, memory and open files.

The processes are forked from one interpreter (targets/idlers.py), so that they fit into little memory, or
with --fresh are interpreters of their own; each has its own threads and its own Python stacks. One thread of each works a little now and then.

Without --processes it measures how the cost grows with processes, with threads, with the depth of the
stacks and with the rate, and compares the points that a bar is set for with it; a plot comes beside the JSON.
"""

import argparse
import collections
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

import plot

HERE = pathlib.Path(__file__).resolve().parent
ATTACH_S = 120  # until all processes must be sampled

# `every`: seconds between two pieces of work of a process; where nothing runs, no stack is read.
Point = collections.namedtuple("Point", "processes threads rate depth every", defaults=(0, 10))
# What grows, its title and axis, and how far.
SERIES = (
    ("processes", "Processes", "processes with 8 threads, 19 Hz", [Point(n, 8, 19) for n in (10, 50, 200, 500, 1000)]),
    ("threads", "Threads", "threads of each of 50 processes, 19 Hz", [Point(50, n, 19) for n in (1, 5, 20, 80)]),
    ("depth", "Depth", "frames; 50 processes with 8 threads at work 5 % of the time, 19 Hz",
     [Point(50, 8, 19, n, 0.02) for n in (1, 10, 50, 200, 500)]),
    ("rate", "Rate", "Hz, 50 processes with 20 threads", [Point(50, 20, n) for n in (10, 19, 49, 100, 250)]),
)
# At most so much of a core; so many MiB, the RSS of all processes of pystrobe.
BARS = {Point(1000, 8, 19): {"cpu": 0.05}, Point(50, 20, 100): {"cpu": 0.03}, Point(200, 8, 19): {"rss_mib": 32}}

# What it may use is far more than any bar, so that nothing is left out for it, and less than a core, which one
# sampler is for.
INI = """[agent]
rate = %(rate)gHz
interval = 15s
max_cpu = 75%%
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
            "pss_mib": sum(size[1] for size in sizes) / 1024, "files": files(pids)[0]}


def stop(agent, log):
    """Ends the agent; gives the samples that it says it took."""
    agent.send_signal(signal.SIGTERM)
    agent.wait(60)
    found = re.search(r"stopped: (\d+) samples", log.read_text())
    return int(found.group(1)) if found else 0


def run_point(args, point, folder):
    """One row of the table."""
    mark = "scale-%d-%d" % (os.getpid(), point.processes)
    targets = subprocess.Popen([args.python, str(HERE / "targets" / "idlers.py"), mark, str(point.processes),
                                str(point.threads), str(point.every), str(args.work), str(point.depth)] + ["fresh"] * args.fresh,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        if not targets.stdout.readline().startswith("ready"):
            sys.exit("the processes did not start")
        ini, log = folder / "scale.ini", folder / "agent.log"
        ini.write_text(INI % {"rate": point.rate, "mark": mark, "store": folder / "store"})
        with log.open("w") as out:
            agent = subprocess.Popen([str(pathlib.Path(args.build) / "pystrobe"), "agent", "-c", str(ini)],
                                     stderr=out)
        started = time.monotonic()
        try:
            wait_for_all(agent, point.processes)
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
    return dict(row, **point._asdict())


def print_table(rows):
    print("%9s %8s %6s %8s %7s %10s %10s %9s %9s %7s" % (
        "processes", "threads", "depth", "rate", "every s", "samples/s", "% of core", "RSS MiB", "PSS MiB", "files"))
    for row in rows:
        missed = ["%s is over %g" % pair for pair in missed_bars(row)]
        print("%9d %8d %6d %8g %7g %10.0f %10.2f %9.1f %9.1f %7d  %s" % (
            row["processes"], row["threads"], row["depth"], row["rate"], row["every"], row["samples_per_s"], 100 * row["cpu"], row["rss_mib"],
            row["pss_mib"], row["files"], ", ".join(missed)))


def point_of(row):
    return Point(*(row[name] for name in Point._fields))


def missed_bars(row):
    bars = BARS.get(point_of(row), {})
    return [(name, most) for name, most in bars.items() if row[name] > most]


def draw(rows, title):
    """One panel for each series, as SVG: CPU and memory over what grows."""
    found = {point_of(row): row for row in rows}
    panels = [{"title": name, "axis": axis, "lines": {
        "CPU, % of a core": [(getattr(point, kind), 100 * found[point]["cpu"]) for point in points if point in found],
        "memory, MiB (PSS)": [(getattr(point, kind), found[point]["pss_mib"]) for point in points if point in found],
    }} for kind, name, axis, points in SERIES]
    return plot.svg(panels, title, "of the agent and its samplers")


def points_of(args):
    if args.processes:
        return [Point(count, args.threads, args.rate, args.depth, args.every) for count in args.processes]
    return list(dict.fromkeys(point for series in SERIES for point in series[3]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--processes", type=int, nargs="+", help="just these, with --threads, --rate, --depth and --every")
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--rate", type=float, default=19)
    parser.add_argument("--depth", type=int, default=0, help="calls that all threads are deep in")
    parser.add_argument("--every", type=float, default=10, help="seconds between two pieces of work of a process")
    parser.add_argument("--work", type=float, default=1, help="milliseconds of CPU time of one")
    parser.add_argument("--fresh", action="store_true", help="start each interpreter anew: some 6 MB a process")
    parser.add_argument("--seconds", type=float, default=10, help="that each point is watched")
    parser.add_argument("--settle", type=float, default=20, help="seconds to wait before that: a process that has "
                        "just been found is asked again who it says it is, after 2, 4, 8 and 16 seconds")
    parser.add_argument("--rounds", type=int, default=1, help="the median of so many is shown")
    parser.add_argument("--json", help="where to write the rows; the plot is beside it")
    parser.add_argument("--check", action="store_true", help="fail where a bar is missed")
    args = parser.parse_args()
    rows = []
    for point in points_of(args):
        found = []
        for _ in range(args.rounds):
            with tempfile.TemporaryDirectory(prefix="pystrobe-scale-") as folder:
                found.append(run_point(args, point, pathlib.Path(folder)))
        rows.append({key: statistics.median(row[key] for row in found) for key in found[0]})
    print_table(rows)
    if args.json:
        pathlib.Path(args.json).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(args.json).write_text(json.dumps(rows, indent=1) + "\n")
    if args.json and not args.processes:
        pathlib.Path(args.json).with_suffix(".svg").write_text(draw(rows, "Cost of an agent on a host"))
    if args.check and any(missed_bars(row) for row in rows):
        sys.exit("scale: a bar was missed")


if __name__ == "__main__":
    main()

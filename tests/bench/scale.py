# SPDX-License-Identifier: Apache-2.0
"""What the agent costs on a host with many Python processes: CPU, system calls, memory and open files.

The processes are forked from one interpreter (targets/idlers.py), so that they fit into little memory, or
with --fresh are interpreters of their own; each has its own threads and its own Python stacks. One thread of each works a little now and then.

Its parts are `hosts`, the rows that a bar is set for; `record`, what a recording of one process costs beside CPython's own
profiler; `speed`, what that takes from the process; and `curves`: how the cost grows with processes, with threads, with
the depth of the stacks and with the rate, as a plot beside the JSON; and `plan`: the table of README and pystrobe(8), without
a limit and with max_cpu = 1%. With --before, another build is measured on the
same processes in turns: ratios carry over to other machines, percentages do not.
"""

import argparse
import collections
import json
import os
import pathlib
import statistics
import sys

import plot
import scale_agent
import scale_plan
import scale_record
import tools_stats

# `every`: seconds between two pieces of work of a process, of `work` ms; where nothing runs, no stack is read.
Point = collections.namedtuple("Point", "processes threads rate depth every work", defaults=(0, 10, 1))
NEVER = 1e6
# What grows, its title and axis, and how far.
SERIES = (
    ("processes", "Processes", "processes with 8 threads, 19 Hz", [Point(n, 8, 19) for n in (10, 50, 200, 500, 1000)]),
    ("threads", "Threads", "threads of each of 50 processes, 19 Hz", [Point(50, n, 19) for n in (1, 5, 20, 80)]),
    ("depth", "Depth", "frames; 50 processes with 8 threads at work 5 % of the time, 19 Hz",
     [Point(50, 8, 19, n, 0.02) for n in (1, 10, 50, 200, 500)]),
    ("rate", "Rate", "Hz, 50 processes with 20 threads", [Point(50, 20, n) for n in (10, 19, 49, 100, 250)]),
)


def wakeful(threads, rate):
    """Fifty processes of which one thread wakes up 50 times a second."""
    return Point(50, threads, rate, 0, 0.02, 0.1)


# At most so much of a core; so many MiB, the RSS of all processes of pystrobe.
BARS = {
    wakeful(1, 19): {"cpu": 0.016}, wakeful(1, 100): {"cpu": 0.045},
    wakeful(21, 19): {"cpu": 0.02}, wakeful(21, 100): {"cpu": 0.06},
    Point(10, 1, 19, 0, NEVER): {"cpu": 0.0015}, Point(100, 1, 19, 0, NEVER): {"cpu": 0.003},
    Point(50, 20, 100): {"cpu": 0.03}, Point(200, 8, 19): {"rss_mib": 32}, Point(1000, 8, 19): {"cpu": 0.03},
}
KEPT_LEAST = 0.8  # of the ticks, for the figures to say anything: a full machine leaves out some
PARTS = ("hosts", "record", "speed", "curves", "plan")


def programs_of(args):
    """{name: executable}."""
    programs = {"now": os.path.join(os.path.abspath(args.build), "pystrobe")}
    return dict(programs, before=os.path.abspath(args.before)) if args.before else programs


def medians(rows):
    """Of each figure, those that were measured."""
    figures = {key: [row[key] for row in rows if row[key] is not None] for key in rows[0]}
    return {key: statistics.median(values) if values else None for key, values in figures.items()}


def run_point(args, point, programs):
    """One row of the table: our figures, and below "before" those of the other build."""
    taken = {name: [] for name in programs}
    with scale_agent.targets(args.python, point, args.fresh) as mark:
        for number in range(args.rounds):
            for name in list(programs) if number % 2 == 0 else reversed(programs):
                taken[name].append(scale_agent.run(programs[name], mark, point, args.settle, args.seconds))
    row = dict(medians(taken["now"]), **point._asdict())
    return dict(row, before=medians(taken["before"])) if "before" in taken else row


def work_text(row):
    """What its processes do."""
    if row["every"] == NEVER:
        return "idle"
    return "%g ms / %g s" % (row["work"], row["every"])


def cell(value, form):
    return "-" if value is None else form % value


def before_cells(row):
    """The other build's CPU and system calls, and ours as many times that."""
    before = row.get("before")
    if not before:
        return ["-"] * 3
    return ["%.2f" % (100 * before["cpu"]), cell(row["cpu"] / before["cpu"] if before["cpu"] else None, "%.2f"),
            cell(before["calls"], "%.2f")]


def remarks(row):
    """Which bars it misses, and whose figures are too good to be true."""
    sides = {"it": row, "the build before": row.get("before")}
    return ", ".join(["%s is over %g" % pair for pair in missed_bars(row)]
                     + ["%s kept %.0f %% of the ticks" % (name, 100 * side["kept"]) for name, side in sides.items()
                        if side and side["kept"] < KEPT_LEAST])


def text_of(rows):
    lines = [["agent on processes", "threads", "depth", "work", "rate", "samples/s", "% of core", "before", "ratio", "calls/tick",
              "before", "RSS MiB", "PSS MiB", "files", ""]]
    for row in rows:
        before = before_cells(row)
        lines.append([
            "%d" % row["processes"], "%d" % row["threads"], "%d" % row["depth"], work_text(row), "%g Hz" % row["rate"],
            "%.0f" % row["samples_per_s"], "%.2f" % (100 * row["cpu"]), *before[:2], cell(row["calls"], "%.2f"), before[2],
            "%.1f" % row["rss_mib"], "%.1f" % row["pss_mib"], "%d" % row["files"],
            remarks(row)])
    return tools_stats.table(lines)


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
        return [Point(count, args.threads, args.rate, args.depth, args.every, args.work) for count in args.processes]
    bars = list(BARS) if "hosts" in args.part else []
    curves = [point for series in SERIES for point in series[3]] if "curves" in args.part else []
    return list(dict.fromkeys(bars + curves))


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--before", metavar="PATH", help="another build's executable, to measure in turns with this one")
    parser.add_argument("--part", choices=PARTS, nargs="+", default=PARTS[:3], help="default: all but curves and plan")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--processes", type=int, nargs="+",
                        help="a host of just these, with --threads, --rate, --depth, --every and --work")
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--rate", type=float, default=19)
    parser.add_argument("--depth", type=int, default=0, help="calls that all threads are deep in")
    parser.add_argument("--every", type=float, default=10, help="seconds between two pieces of work of a process")
    parser.add_argument("--work", type=float, default=1, help="milliseconds of CPU time of one")
    parser.add_argument("--fresh", action="store_true", help="start each interpreter anew: some 6 MB a process")
    parser.add_argument("--seconds", type=float, default=15, help="that each agent is watched")
    parser.add_argument("--settle", type=float, default=20, help="seconds to wait before that: a process that has "
                        "just been found is asked again who it says it is, after 2, 4, 8 and 16 seconds")
    parser.add_argument("--rounds", type=int, default=1, help="of each agent; the median is shown")
    parser.add_argument("--record-seconds", type=int, default=6, help="of each recording")
    parser.add_argument("--record-rounds", type=int, default=3, help="of each recording; the median is shown")
    parser.add_argument("--turns", type=int, default=60, help="of a process with and without a recording")
    parser.add_argument("--json", help="where to write the rows; the plot is beside it")
    parser.add_argument("--check", action="store_true", help="fail where a bar is missed")
    return parser.parse_args()


def say(text):
    print(text, flush=True)


def log(text):
    print("bench: " + text, file=sys.stderr, flush=True)


def measure_hosts(args, programs):
    rows = []
    for point in points_of(args):
        rows.append(run_point(args, point, programs))
        log("host %d of %d:\n%s" % (len(rows), len(points_of(args)), text_of(rows[-1:])))
    if rows:
        say(text_of(rows))
    return rows


def measure_records(args, programs):
    """What is measured of one process: recordings, and its speed."""
    parts = () if args.processes else args.part
    records = scale_record.measure(args.build, programs, args, log) if "record" in parts else []
    if records:
        say("\n" + scale_record.text_of(records))
    try:
        speeds = scale_record.measure_speed(args.build, programs, args, log) if "speed" in parts else []
    except RuntimeError as reason:  # the target stood still for a whole turn: the rest is worth keeping
        log("the speed of a process was not measured: %s" % reason)
        speeds = []
    if speeds:
        say("\n" + scale_record.speed_text(speeds))
    return records, speeds


def main():
    args = read_arguments()
    programs = programs_of(args)
    rows = measure_hosts(args, programs)
    records, speeds = measure_records(args, programs)
    plan = scale_plan.measure(programs["now"], args, Point, log) if "plan" in args.part and not args.processes else []
    if plan:
        say("\n" + scale_plan.markdown(plan))
    if args.json:
        path = pathlib.Path(args.json)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"hosts": rows, "record": records, "speed": speeds, "plan": plan}, indent=1) + "\n")
        if "curves" in args.part and not args.processes:
            path.with_suffix(".svg").write_text(draw(rows, "Cost of an agent on a host"))
    if args.check and (any(map(missed_bars, rows)) or any(map(scale_record.missed, records))):
        sys.exit("scale: a bar was missed")


if __name__ == "__main__":
    main()

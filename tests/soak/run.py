# SPDX-License-Identifier: Apache-2.0
"""Does an agent grow, or lose anything, while the processes that it samples come and go?

Workers are replaced all the time while memory, open files and threads of the agent and its samplers
are read each second. After a quarter of the time, which it is given to warm up, a line is laid
through each. The run passes if, with 95 % certainty, none of them grows by more than BARS says.
"""

import argparse
import collections
import contextlib
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import slopes

HERE = pathlib.Path(__file__).resolve().parent
STEP_S, BLOCK_S = 1, 15  # three intervals of the agent
READY_S = 60

INI = """[agent]
rate = 49Hz
interval = 5s
scan = 500ms
max_cpu = 50%%
spool = off
[target churn]
cmdline = %(mark)s
service = churn
[exporter local]
type = store
path = %(store)s
max_size = 4MiB
"""

# By how much it may grow over the whole run: a heap settles for some minutes, and the workers of the
# moment are more at one time than at another. A longer run allows no more, and so says more.
Bar = collections.namedtuple("Bar", "unit most")
BARS = {"memory": Bar("KiB", 1024), "files": Bar("", 60), "threads": Bar("", 1), "processes": Bar("", 1)}


def tree(pid):
    """The agent and its samplers."""
    found = [pid]
    for task in pathlib.Path("/proc/%d/task" % pid).iterdir():
        found += [int(word) for word in (task / "children").read_text().split()]
    return found


def look(pid):
    """What the agent and its samplers have; memory is what nobody else has, too."""
    sums = collections.Counter()
    for one in tree(pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            status = pathlib.Path("/proc/%d/status" % one).read_text()
            sums["memory"] += int(re.search(r"^RssAnon:\s+(\d+)", status, re.M).group(1))
            sums["threads"] += int(re.search(r"^Threads:\s+(\d+)", status, re.M).group(1))
            sums["files"] += sum(1 for _ in pathlib.Path("/proc/%d/fd" % one).iterdir())
            sums["processes"] += 1
    return sums


def watch(agent, seconds):
    """[(seconds, what it has)] of each second after the warm-up."""
    points, start = [], time.monotonic()
    while time.monotonic() < start + seconds:
        time.sleep(STEP_S)
        if agent.poll() is not None:
            sys.exit("the agent ended")
        at = time.monotonic() - start
        if at > seconds / 4:
            points.append((at, look(agent.pid)))
    return points


def soak(args, folder):
    """Gives the points, and what the agent's log says at the end."""
    mark, log = "soak-%s" % folder.name, folder / "agent.log"
    ini = folder / "soak.ini"
    ini.write_text(INI % {"mark": mark, "store": folder / "store"})
    churn = subprocess.Popen([args.python, str(HERE / "churn.py"), mark, str(args.workers), str(args.life)],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        if churn.stdout.readline() != "ready\n":
            sys.exit("the workers did not start")
        with log.open("w") as out:
            agent = subprocess.Popen([str(pathlib.Path(args.build) / "pystrobe"), "agent", "-c", str(ini)], stderr=out)
        try:
            points = watch(agent, args.seconds)
            agent.send_signal(signal.SIGTERM)
            status = agent.wait(READY_S)
        finally:
            if agent.poll() is None:
                agent.kill()
                agent.wait()
    finally:
        churn.stdin.close()
        churn.wait()
    if status != 0:
        sys.exit("the agent ended with %d" % status)
    return points, log.read_text()


def judge(name, slope, seconds):
    """Gives what is wrong, or nothing."""
    hours = seconds / 3600
    if slope.low * hours > BARS[name].most:
        return "GROWS"
    if slope.high * hours > BARS[name].most:
        return "MAY GROW by more than %d in this run" % BARS[name].most
    return ""


def report(points, seconds):
    """Prints a line for each; gives how many are wrong, and the figures."""
    wrong, figures = 0, {}
    for name, bar in BARS.items():
        slope = slopes.slope_of([(at, sums[name]) for at, sums in points], BLOCK_S)
        verdict = judge(name, slope, seconds)
        wrong += bool(verdict)
        values = [sums[name] for _, sums in points]
        figures[name] = dict(slope._asdict(), least=min(values), most=max(values))
        print("soak: %-9s %8d to %8d %-3s  an hour: %+9.1f (95 %%: %+.1f to %+.1f)  %s" % (
            name, min(values), max(values), bar.unit, slope.an_hour, slope.low, slope.high, verdict or "ok"))
    return wrong, figures


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--life", type=float, default=4, help="seconds that a worker lives")
    parser.add_argument("--json")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pystrobe-soak-") as name:
        points, log = soak(args, pathlib.Path(name))
    wrong, figures = report(points, args.seconds)
    found = re.search(r"stopped: .* of (\d+) processes", log)
    sampled = int(found.group(1)) if found else 0
    lost = len(re.findall(r"a sampler (?:has ended|did nothing)", log))
    least = args.seconds * args.workers / args.life / 4  # on a busy machine they live for longer
    print("soak: %d workers sampled (of at least %d), %d samplers lost" % (sampled, least, lost))
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(figures, indent=1) + "\n")
    wrong += (sampled < least) + (lost > 0)
    print("soak: %s" % ("passed" if wrong == 0 else "%d wrong" % wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

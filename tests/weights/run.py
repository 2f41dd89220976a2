# SPDX-License-Identifier: Apache-2.0
"""Do the times of a profile add up to what the kernel and the program itself say?

Each workload runs for some seconds while `pystrobe record` looks at it. CPU time must be within
2 % of the kernel's number for the process, wall time within 1 % of what its threads measured, and the
bursts' share of the CPU time within 3 points, or three standard errors, of what the threads measured.
Printed beside: how much of the CPU time no sample saw, and how much went to stacks that rest.

No sample can know within a period when a thread entered and left window(), and the threads enter
it when the process has rested for long and is looked at in each eighth tick only: up to 0.1 s in all.
So a workload is to run for ten seconds or more.
"""

import argparse
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "integration"), str(HERE.parent / "bench")]
import neighbours  # noqa: E402
import profiles  # noqa: E402

RATE = 100
CPU_BOUND, WALL_BOUND, SHARE_BOUND, STANDARD_ERRORS = 0.02, 0.01, 0.03, 3
WAITING_PART = 0.25  # of the samples that meet a CPU tell where, with neighbours

NEIGHBOURS = 3  # endless loops beside the program

# Kind, threads, burst in ms, duty, neighbours if it has any. Fifty threads share one GIL: their duty is what they ask for.
WORKLOADS = [("python", 1, burst, duty) for burst in (1, 5, 50) for duty in (0.01, 0.1, 0.5)] + [
    ("python", 1, 50, 1), ("python", 4, 5, 0.1), ("python", 4, 50, 1),
    ("python", 50, 1, 0.01), ("python", 50, 5, 0.01), ("python", 50, 50, 0.01), ("python", 50, 50, 1),
    ("zlib", 1, 5, 0.1), ("zlib", 1, 50, 1), ("zlib", 4, 5, 0.5),
    ("hash", 1, 50, 0.5), ("hash", 4, 50, 1), ("hash", 50, 5, 0.01),
    ("python", 3, 0.25, 0.03), ("python", 1, 0.25, 0.03), ("python", 1, 0.025, 0.003),
    ("serve", 4, 5, 0.3), ("serve", 4, 5, 0.3, NEIGHBOURS), ("python", 4, 5, 0.1, NEIGHBOURS)]


# One of each kind of duty, burst, number of threads and code, for a run of a minute or so.
SHORT = [("python", 1, 1, 0.1), ("python", 1, 5, 0.5), ("python", 50, 5, 0.01), ("zlib", 1, 50, 1), ("hash", 4, 50, 1)]


def find_python():
    """The newest Python that is there and runs outside of a root of its own."""
    found = [json.loads(line) for line in open(os.environ["PYSTROBE_PYTHONS"], encoding="ascii")]
    plain = [row for row in found if "exe" in row and not row["root"] and not row["debug"] and not row["free_threaded"]]
    return max(plain, key=lambda row: [int(part) for part in row["version"].split(".")])["exe"]


def run_workload(args, workload, folder):
    """Gives what the program says, and the profile."""
    words = [args.python, str(HERE / "target.py"), *map(str, workload[:4]), str(args.seconds)]
    out = folder / "profile.pb.gz"
    with neighbours.busy(sum(workload[4:])), subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                                              text=True) as target:
        if target.stdout.readline() != "ready\n":
            sys.exit("the program did not start")
        recorder = subprocess.Popen([str(pathlib.Path(args.build) / "pystrobe"), "record", "-d", "1h", "-r",
                                     "%gHz" % RATE, "-o", str(out), "-p", str(target.pid)],
                                    stderr=subprocess.DEVNULL)
        time.sleep(1)
        target.stdin.write("begin\n")
        target.stdin.flush()
        truth = json.loads(target.stdout.readline())
        time.sleep(0.1)
        recorder.send_signal(signal.SIGINT)
        recorder.wait(60)
        target.stdin.write("end\n")
    return truth, profiles.read(out)[0]


def judge(truth, profile, is_busy):
    """The row of the table."""
    def total(value, name=""):
        """Of samples in whose stack the function is; "": of all."""
        return profiles.total([profile], value, lambda sample: not name or any(
            frame["func"].startswith(name) for frame in sample["stack"])) / 1e9

    cpu = total("cpu")
    row = {"cpu_s": truth["cpu_s"], "cpu_error": cpu / truth["cpu_s"] - 1,
           "wall_s": truth["wall_s"], "wall_error": total("wall", "window") / truth["wall_s"] - 1,
           "unseen": total("cpu", "<CPU time") / cpu, "resting": total("cpu", "rest") / cpu,
           "wait_s": total("wait")}
    share = truth["burst_cpu_s"] / truth["cpu_s"]
    samples = RATE * truth["cpu_s"]  # that met a thread on a CPU, at most
    row["share"], row["share_error"] = share, total("cpu", "burst") / cpu - share
    if is_busy:  # most samples find the program waiting for a CPU
        samples *= WAITING_PART
    bound = max(SHARE_BOUND, STANDARD_ERRORS * math.sqrt(share * max(0, 1 - share) / samples))
    row["good"] = (abs(row["cpu_error"]) <= CPU_BOUND and abs(row["wall_error"]) <= WALL_BOUND
                   and abs(row["share_error"]) <= bound)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--python", default=None)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--short", action="store_true", help="a few of them, in a minute")
    parser.add_argument("--only", default="", help="workloads whose name has this")
    parser.add_argument("--json")
    args = parser.parse_args()
    args.python = args.python or find_python()
    rows = []
    print("%-37s %8s %8s %8s %8s %9s %8s %8s %8s" % (
        "workload", "CPU s", "CPU err", "wall err", "bursts", "error", "unseen", "resting", "wait s"))
    for workload in SHORT if args.short else WORKLOADS:
        name = "%s, %d x %g ms at %g %%" % (workload[0], workload[1], workload[2], 100 * workload[3])
        name += ", busy host" if workload[4:] else ""
        if args.only not in name:
            continue
        with tempfile.TemporaryDirectory(prefix="pystrobe-weights-") as folder:
            row = judge(*run_workload(args, workload, pathlib.Path(folder)), len(workload) > 4)
        rows.append(dict(row, workload=name))
        print("%-37s %8.3f %+7.2f%% %+7.2f%% %7.1f%% %+8.2f%% %7.1f%% %7.1f%% %8.3f%s" % (
            name, row["cpu_s"], 100 * row["cpu_error"], 100 * row["wall_error"], 100 * row["share"],
            100 * row["share_error"], 100 * row["unseen"], 100 * row["resting"], row["wait_s"],
            "" if row["good"] else "  WRONG"), flush=True)
    if args.json:
        pathlib.Path(args.json).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(args.json).write_text(json.dumps(rows, indent=1) + "\n")
    bad = [row["workload"] for row in rows if not row["good"]]
    print("weights: %d of %d within bounds" % (len(rows) - len(bad), len(rows)))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()

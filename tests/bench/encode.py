#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What encoding a profile of 10,000 stacks, 30 frames each, costs: to gzip'd pprof and to OTLP.

Medians over rounds, in which the two take turns: CPU time (with memory that is there from an earlier
round, as an agent has it), all the memory needed beyond the profile, bytes. As peers for the bytes: what `go tool pprof` makes of the same pprof, and the same OTLP request
packed by Go's gzip at its default level, as a Collector sends it on (its messages are the same bytes:
protobuf leaves their writer no choice but the order). Says which bars are held; the exit status is 1
if one is not and --check is given.
"""

import argparse
import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

STACKS, DEPTH = 10000, 30
TURNS = 5
TIME_MAX_MS = 30
MEMORY_MAX = 8 << 20


def encode(build, form, rounds, path):
    """What each round of a form took, after a first one that warms up; and the peak of all of them."""
    tool = os.path.join(build, "tests", "tools", "encode_bench")
    out = subprocess.run([tool, form, str(STACKS), str(DEPTH), str(rounds + 1), path],
                         stdout=subprocess.PIPE, check=True).stdout.decode()
    lines = [json.loads(line) for line in out.splitlines()]
    peak = max(line["peak_bytes"] for line in lines)
    return [dict(line, peak_bytes=peak) for line in lines[1:]]


def medians(lines):
    row = {name: statistics.median(line[name] for line in lines) for name in lines[0]}
    return {"ms": row["ns"] / 1e6, "ms_least": min(line["ns"] for line in lines) / 1e6,
            "peak_bytes": int(row["peak_bytes"]), "plain_bytes": int(row["plain_bytes"]), "bytes": int(row["bytes"])}


def pprof_peer(path):
    """How large the same profile is as `go tool pprof` writes it."""
    out = path + ".again"
    done = subprocess.run(["go", "tool", "pprof", "-symbolize=none", "-proto", "-output=" + out, path],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return os.path.getsize(out) if done.returncode == 0 else None


def otlp_peer(path):
    """How large the same request is as Go's gzip packs it."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gzip.go")
    with gzip.open(path) as plain:
        done = subprocess.run(["go", "run", program], input=plain.read(), stdout=subprocess.PIPE, check=False)
    return len(done.stdout) if done.returncode == 0 else None


PEERS = {"pprof": ("go tool pprof", pprof_peer), "otlp": ("Go's gzip", otlp_peer)}


def measure(build, rounds):
    lines = {form: [] for form in PEERS}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(TURNS):
            for form, of_form in lines.items():
                of_form += encode(build, form, max(1, rounds // TURNS), os.path.join(folder, form))
        result = {form: medians(of_form) for form, of_form in lines.items()}
        for form, (_, peer) in PEERS.items():
            result[form]["peer_bytes"] = peer(os.path.join(folder, form)) if shutil.which("go") else None
    result["otlp"]["ms_by_pprof"] = result["otlp"]["ms"] / result["pprof"]["ms"]
    return result


def missed(result):
    """The bars that are not held, as sentences."""
    for form, (peer, _) in PEERS.items():
        row = result[form]
        if row["ms"] >= TIME_MAX_MS:
            yield "%s takes %.1f ms; %d are allowed" % (form, row["ms"], TIME_MAX_MS)
        if row["peak_bytes"] >= MEMORY_MAX:
            yield "%s needs %d bytes of memory; %d are allowed" % (form, row["peak_bytes"], MEMORY_MAX)
        if row["peer_bytes"] is not None and row["bytes"] > row["peer_bytes"]:
            yield "%s has %d bytes; %s writes %d" % (form, row["bytes"], peer, row["peer_bytes"])


def show(result):
    print("encoding %d stacks of %d frames   CPU ms  (least)  peak KiB  plain bytes  gzip'd bytes  a peer's" %
          (STACKS, DEPTH))
    for form, (peer, _) in PEERS.items():
        row = result[form]
        print("%-34s %7.1f %8.1f %9d %12d %13d  %s" %
              (form, row["ms"], row["ms_least"], row["peak_bytes"] // 1024, row["plain_bytes"], row["bytes"],
               "%d (%s)" % (row["peer_bytes"], peer) if row["peer_bytes"] else "not tried: no go"))
    print("otlp takes %.2f of pprof's time" % result["otlp"]["ms_by_pprof"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", help="where the figures go")
    parser.add_argument("--check", action="store_true", help="fail if a bar is missed")
    args = parser.parse_args()

    result = measure(os.path.abspath(args.build), args.rounds)
    result["missed"] = list(missed(result))
    show(result)
    for sentence in result["missed"]:
        print("missed: " + sentence)
    if args.json:
        os.makedirs(os.path.dirname(os.path.abspath(args.json)), exist_ok=True)
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1, sort_keys=True)
    return 1 if args.check and result["missed"] else 0


if __name__ == "__main__":
    sys.exit(main())

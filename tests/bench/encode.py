#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What encoding a profile of 10,000 stacks, 30 frames each, costs: to gzip'd pprof and to OTLP.

Medians over rounds: CPU time, the memory needed beyond the profile, bytes; and the bytes that
`go tool pprof` makes of the same pprof. Says which bars are held; the exit status is 1 if one is not
and --check is given.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

STACKS, DEPTH = 10000, 30
TIME_MAX_MS = 30
MEMORY_MAX = 8 << 20


def encode(build, form, rounds, path):
    """A form's medians."""
    tool = os.path.join(build, "tests", "tools", "encode_bench")
    out = subprocess.run([tool, form, str(STACKS), str(DEPTH), str(rounds), path],
                         stdout=subprocess.PIPE, check=True).stdout.decode()
    lines = [json.loads(line) for line in out.splitlines()][1:]  # the first one warms up
    row = {name: statistics.median(line[name] for line in lines) for name in lines[0]}
    return {"ms": row["ns"] / 1e6, "ms_least": min(line["ns"] for line in lines) / 1e6,
            "peak_bytes": int(row["peak_bytes"]), "plain_bytes": int(row["plain_bytes"]), "bytes": int(row["bytes"])}


def reencoded(path, folder):
    """How large the same profile is as `go tool pprof` writes it; None without a Go."""
    if not shutil.which("go"):
        return None
    out = os.path.join(folder, "again.pb.gz")
    done = subprocess.run(["go", "tool", "pprof", "-symbolize=none", "-proto", "-output=" + out, path],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return os.path.getsize(out) if done.returncode == 0 else None


def measure(build, rounds):
    with tempfile.TemporaryDirectory() as folder:
        paths = {form: os.path.join(folder, form) for form in ("pprof", "otlp")}
        result = {form: encode(build, form, rounds, path) for form, path in paths.items()}
        result["go_tool_pprof_bytes"] = reencoded(paths["pprof"], folder)
    return result


def missed(result):
    """The bars that are not held, as sentences."""
    for form in ("pprof", "otlp"):
        row = result[form]
        if row["ms"] >= TIME_MAX_MS:
            yield "%s takes %.1f ms; %d are allowed" % (form, row["ms"], TIME_MAX_MS)
        if row["peak_bytes"] >= MEMORY_MAX:
            yield "%s needs %d bytes of memory; %d are allowed" % (form, row["peak_bytes"], MEMORY_MAX)
    again = result["go_tool_pprof_bytes"]
    if again is not None and result["pprof"]["bytes"] > again:
        yield "pprof has %d bytes; go tool pprof writes %d" % (result["pprof"]["bytes"], again)


def show(result):
    print("encoding %d stacks of %d frames   CPU ms  (least)  peak KiB  plain bytes  gzip'd bytes" % (STACKS, DEPTH))
    for form in ("pprof", "otlp"):
        row = result[form]
        print("%-34s %7.1f %8.1f %9d %12d %13d" % (form, row["ms"], row["ms_least"], row["peak_bytes"] // 1024,
                                                row["plain_bytes"], row["bytes"]))
    print("%-34s %54s" % ("go tool pprof, the same profile", result["go_tool_pprof_bytes"] or "not tried: no go"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", help="where the figures go")
    parser.add_argument("--check", action="store_true", help="fail if a bar is missed")
    args = parser.parse_args()

    result = measure(os.path.abspath(args.build), args.rounds + 1)
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

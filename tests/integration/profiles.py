# SPDX-License-Identifier: Apache-2.0
"""Reads profiles with google/pprof's own parser, and what the kernel says of processes."""

import functools
import glob
import json
import os
import subprocess

import live

BUILD = os.path.abspath(os.environ.get("PYSTROBE_BUILD", os.path.join(live.TREE, "build")))


@functools.lru_cache(maxsize=None)
def checker():
    """Builds tests/pprofcheck once; gives its path."""
    path = os.path.join(BUILD, "tests", "pprofcheck")
    subprocess.run(["go", "build", "-o", path, "."], cwd=os.path.join(live.TESTS, "pprofcheck"), check=True,
                   timeout=300, env=dict(os.environ, GOFLAGS="-mod=mod -trimpath", GOTOOLCHAIN="local"))
    return path


def read(*paths):
    """Each file as pprofcheck sees it; a bad one fails the test."""
    done = subprocess.run([checker(), *[str(path) for path in paths]], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def in_store(store, service):
    """The profiles of a service in a store, oldest first."""
    return read(*sorted(glob.glob(os.path.join(str(store), service, "*.pb.gz"))))


def column(profile, name):
    return [value_type["type"] for value_type in profile["sample_types"]].index(name)


def total(profiles, name, keep=lambda sample: True):
    """The sum of a value over the samples that `keep` takes."""
    return sum(sample["values"][column(profile, name)]
               for profile in profiles for sample in profile["samples"] if keep(sample))


def cpu_ns(pid):
    """The kernel's number for all threads of a process."""
    spent = 0
    for path in glob.glob("/proc/%d/task/*/schedstat" % pid):
        with open(path, encoding="ascii") as file:
            spent += int(file.read().split()[0])
    return spent

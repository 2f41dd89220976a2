# SPDX-License-Identifier: Apache-2.0
"""What the first processes of the machines share: how they tell what they saw, and run what they try.

conftest.py puts it where their Python finds it.
"""

import json
import os
import subprocess

PYTHON, PYSTROBE = "/usr/bin/python3", "/usr/bin/pystrobe"
DEADLINE_S = 120


def mount(**more):
    """The kernel's file systems that each needs, and others: {kind: path}."""
    for kind, path in {"proc": "/proc", "devtmpfs": "/dev", "tmpfs": "/run", **more}.items():
        os.makedirs(path, exist_ok=True)
        subprocess.run(["/usr/bin/mount", "-t", kind, kind, path], check=True)


def tell(**seen):
    """One object a line, on the console."""
    print("guest: " + json.dumps(seen), flush=True)


def run(words):
    """(exit status, standard output, standard error)."""
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=DEADLINE_S, text=True, cwd="/")
    return done.returncode, done.stdout, done.stderr

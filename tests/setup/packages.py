#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps packages from PyPI that tests run, in a venv in the cache folder: packages.py NAME.

Prints the folder of the venv. The versions and their files' hashes are in NAME.txt, beside this.
"""

import glob
import hashlib
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import roots  # noqa: E402

TIMEOUT_S = 600


def requirements(name):
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".txt")


def folder(name):
    """Another one for another list, or another Python."""
    with open(requirements(name), "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()[:12]
    return os.path.join(roots.cache_folder(), "%s-%s-py%d%d-%s" % (
        name, digest, sys.version_info[0], sys.version_info[1], os.uname().machine))


def move_script(path, old, new):
    """Has a script name its interpreter by another folder."""
    if os.path.islink(path) or not os.path.isfile(path):
        return
    with open(path, "rb") as file:
        data = file.read()
    if data.startswith(b"#!") and old.encode() in data:
        with open(path, "wb") as file:
            file.write(data.replace(old.encode(), new.encode()))


def build(name, log_file):
    """Makes the venv beside its place first, so that one that exists is whole."""
    aside = folder(name) + ".partial"
    steps = [[sys.executable, "-m", "venv", "--clear", aside],
             [os.path.join(aside, "bin", "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
              "--only-binary", ":all:", "--require-hashes", "-r", requirements(name)]]
    for words in steps:
        try:
            subprocess.run(words, stdin=subprocess.DEVNULL, stdout=log_file, stderr=subprocess.STDOUT,
                           timeout=TIMEOUT_S, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            raise roots.Unavailable("%s could not be installed (%s); see %s" % (name, error, log_file.name))
    for path in glob.glob(os.path.join(aside, "bin", "*")):
        move_script(path, aside, folder(name))
    os.rename(aside, folder(name))


def ensure(name, log):
    """The folder of the venv, made if need be."""
    if os.path.exists(folder(name)):
        return folder(name)
    os.makedirs(roots.cache_folder(), exist_ok=True)
    with roots.locked(roots.cache_folder(), log):
        if not os.path.exists(folder(name)):
            log("installing what %s.txt lists into %s" % (name, folder(name)))
            with open(folder(name) + ".log", "w", encoding="utf-8") as log_file:
                build(name, log_file)
    return folder(name)


def main():
    try:
        print(ensure(sys.argv[1], lambda text: print("packages: " + text, file=sys.stderr)))
    except roots.Unavailable as reason:
        print("packages: %s" % reason, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

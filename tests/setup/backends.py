#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the servers of tests/backends, and says where they are: one JSON object a line.

{"name", "path"} or {"name", "missing"}: the reason why there is none. A program is kept in the
cache folder under the hash of what it was made of. With CI=true a missing one is a failure.
"""

import argparse
import hashlib
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import golang  # noqa: E402
import roots  # noqa: E402

NAMES = ("collector", "pushreceiver")
SOURCES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "backends")


def fingerprint(folder):
    digest = hashlib.sha256(golang.RELEASE.encode())
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            digest.update(name.encode() + b"\0" + hashlib.sha256(file.read()).digest())
    return digest.hexdigest()[:16]


def ensure(name, install, log):
    """The path of a server; raises roots.Unavailable."""
    folder = os.path.join(SOURCES, name)
    cache = os.path.join(roots.cache_folder(), "backends")
    path = os.path.join(cache, "%s-%s-%s" % (name, os.uname().machine, fingerprint(folder)))
    if os.path.exists(path):
        return path
    if not install:
        raise roots.Unavailable("not in the cache, and building was not asked for")
    os.makedirs(cache, exist_ok=True)
    with roots.locked(cache, log):
        if os.path.exists(path):
            return path
        go = golang.ensure(log)
        log("building %s (some minutes, once)" % name)
        command = [go, "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", path + ".partial", "."]
        try:
            golang.run(command, folder, GOTOOLCHAIN="local", CGO_ENABLED="0")
        except roots.Unavailable as error:  # most often a module proxy that was away for a moment
            log("%s; trying once more" % error)
            golang.run(command, folder, GOTOOLCHAIN="local", CGO_ENABLED="0")
        os.rename(path + ".partial", path)
    return path


def find(install, log):
    for name in NAMES:
        try:
            yield {"name": name, "path": ensure(name, install, log)}
        except (roots.Unavailable, OSError) as reason:
            yield {"name": name, "missing": str(reason)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-install", action="store_true", help="only look, build nothing")
    parser.add_argument("-o", "--output", required=True, help="the list")
    args = parser.parse_args()

    def log(text):
        print("backends: " + text, file=sys.stderr)

    found = list(find(not args.no_install, log))
    os.makedirs(os.path.dirname(os.path.abspath(args.output)), exist_ok=True)
    with open(args.output + ".new", "w", encoding="utf-8") as file:
        file.write("".join(json.dumps(one, sort_keys=True) + "\n" for one in found))
    os.replace(args.output + ".new", args.output)
    for one in found:
        log("%s: %s" % (one["name"], one.get("path") or "missing: " + one["missing"]))
    return 1 if os.environ.get("CI") == "true" and any("missing" in one for one in found) else 0


if __name__ == "__main__":
    sys.exit(main())

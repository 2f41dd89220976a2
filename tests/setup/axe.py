#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps axe-core, which looks for what people who cannot see or point would miss in a page, in the cache folder.

Prints the path of its script. It comes from the npm registry, by npm; its licence (MPL-2.0) is not
ours, so it is not in the tree.
"""

import hashlib
import os
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import roots  # noqa: E402

VERSION = "4.14.1"
SHA256 = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"
TIMEOUT_S = 300


def script():
    """Where it is, once it is there."""
    return os.path.join(roots.cache_folder(), "axe-core-%s.min.js" % VERSION)


def fetch(folder):
    """Its bytes, as they are pinned."""
    try:
        subprocess.run(["npm", "pack", "--silent", "--pack-destination", folder, "axe-core@" + VERSION], cwd=folder,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=TIMEOUT_S, check=True)
        with tarfile.open(os.path.join(folder, "axe-core-%s.tgz" % VERSION)) as packed:
            found = packed.extractfile("package/axe.min.js").read()
    except (OSError, KeyError, tarfile.TarError, subprocess.SubprocessError) as error:
        raise roots.Unavailable("axe-core could not be had: %s" % error)
    if hashlib.sha256(found).hexdigest() != SHA256:
        raise roots.Unavailable("axe-core is not the one that is pinned")
    return found


def ensure(log):
    """The path of the script, fetched if need be."""
    if os.path.exists(script()):
        return script()
    os.makedirs(roots.cache_folder(), exist_ok=True)
    with roots.locked(roots.cache_folder(), log):
        if not os.path.exists(script()):
            log("fetching axe-core " + VERSION)
            aside = os.path.join(roots.cache_folder(), "axe.partial")
            os.makedirs(aside, exist_ok=True)
            with open(os.path.join(aside, "axe.js"), "wb") as file:
                file.write(fetch(aside))
            os.rename(os.path.join(aside, "axe.js"), script())
    return script()


def main():
    try:
        print(ensure(lambda text: print("axe: " + text, file=sys.stderr)))
    except roots.Unavailable as reason:
        print("axe: %s" % reason, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

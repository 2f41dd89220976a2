#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts the systems and the kernel that the long tests run on into the cache folder.

Each of those tests would do so itself; done here, it goes on beside tests that need none of them.
Ends with a line "N passed, N failed, N skipped". What cannot be had is named, and is a failure in a CI.
"""

import os
import sys

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TREE, "tests", "setup"), os.path.join(TREE, "tests", "packages")]
import clean_root  # noqa: E402
import cross  # noqa: E402
import kernel  # noqa: E402
import machine  # noqa: E402
import roots  # noqa: E402


def say(text):
    print("systems: " + text, flush=True)


def kernel_image():
    why = kernel.why_not()
    if why:
        raise roots.Unavailable(why)
    return kernel.image(say)


# In the order in which they are wanted.
WANTED = {
    "an arm64 compiler": lambda: roots.ensure("bookworm", "cross-" + cross.ARCH, cross.PACKAGES, True, say),
    "a system that boots": lambda: roots.ensure(machine.SUITE, "booted", machine.PACKAGES, True, say),
    "a bare system": lambda: roots.ensure("bookworm", "bare", clean_root.PACKAGES, True, say),
    "a kernel with Yama": kernel_image,
}


def main():
    missing = 0
    for name, have in WANTED.items():
        try:
            say("%s: %s" % (name, have()))
        except roots.Unavailable as error:
            say("%s: missing: %s" % (name, error))
            missing += 1
    failed = missing if os.environ.get("CI") == "true" else 0
    print("%d passed, %d failed, %d skipped" % (len(WANTED) - missing, failed, missing - failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

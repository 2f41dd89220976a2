# SPDX-License-Identifier: Apache-2.0
"""Keeps greenlet and gevent from PyPI for each Python under test, in a folder of the cache folder.

They are chosen for a Python that need not be able to install anything itself. The versions and their files' hashes are
in greenlets.txt, beside this: a list for each range of Python versions.
"""

import hashlib
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import packages  # noqa: E402
import roots  # noqa: E402

GLIBCS = ("2_28", "2_24", "2_17")  # of the wheels, the newest first


def lines_for(minor):
    """The lines of the list for Python 3.`minor`: each begins with "# 3.FIRST to 3.LAST"."""
    found = []
    with open(packages.requirements("greenlets"), encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if words[:1] == ["#"] and words[2:3] == ["to"]:
                wanted = int(words[1].split(".")[1]) <= minor <= int(words[3].split(".")[1])
            elif line.strip() and not line.startswith("#") and wanted:
                found.append(line)
    return "".join(found)


def folder(minor):
    digest = hashlib.sha256(lines_for(minor).encode()).hexdigest()[:12]
    return os.path.join(roots.cache_folder(), "greenlets-%s-py3%d-%s" % (digest, minor, os.uname().machine))


def build(minor, log_file):
    aside = folder(minor) + ".partial"
    with open(aside + ".txt", "w", encoding="utf-8") as file:
        file.write(lines_for(minor))
    platforms = ["--platform=manylinux_%s_%s" % (glibc, os.uname().machine) for glibc in GLIBCS]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--upgrade",
               "--only-binary", ":all:", "--require-hashes", "--python-version", "3.%d" % minor, *platforms,
               "--target", aside, "-r", aside + ".txt"]
    try:
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log_file, stderr=subprocess.STDOUT,
                       timeout=packages.TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise roots.Unavailable("greenlet could not be installed (%s); see %s" % (error, log_file.name))
    os.rename(aside, folder(minor))


def install(minor, log):
    os.makedirs(roots.cache_folder(), exist_ok=True)
    with roots.locked(roots.cache_folder(), log):
        if not os.path.exists(folder(minor)):
            log("installing what greenlets.txt lists into %s" % folder(minor))
            with open(folder(minor) + ".log", "w", encoding="utf-8") as log_file:
                build(minor, log_file)


def copy_into(root, source, inner, log):
    copy = 'test -e "$2" || { rm -rf "$2.partial" && cp -r "$1" "$2.partial" && mv "$2.partial" "$2"; }'
    with roots.locked(roots.cache_folder(), log):
        subprocess.run(roots.as_root() + ["sh", "-c", copy, "copy", source, root + inner], check=True)


def ensure(python, log):
    """The folder to put on the path of that Python, as it sees it; made if need be."""
    minor = int(python["version"].split(".")[1])
    if not lines_for(minor):
        raise roots.Unavailable("greenlets.txt lists nothing for Python 3.%d" % minor)
    if not os.path.exists(folder(minor)):
        install(minor, log)
    if not python["root"]:
        return folder(minor)
    inner = "/opt/" + os.path.basename(folder(minor))
    if not os.path.exists(python["root"] + inner):
        copy_into(python["root"], folder(minor), inner, log)
    return inner

# SPDX-License-Identifier: Apache-2.0
"""Keeps programs that Nuitka has compiled in the cache folder, because a compilation takes half a minute of CPU.

Nuitka comes from PyPI, as pinned in nuitka.txt and nuitka-build.txt, and runs under the Python that the program is for.
"""

import hashlib
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import packages  # noqa: E402
import roots  # noqa: E402

TIMEOUT_S = 1800  # of a compilation on a busy machine


def headers_of(python):
    words = [python["exe"], "-c", "import sysconfig; print(sysconfig.get_path('include'))"]
    return os.path.join(roots.output_of(words).strip(), "Python.h")


def digest_of(*paths):
    digest = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()[:12]


def folder(python, source):
    """Another one for another source, compiler or Python."""
    digest = digest_of(source, packages.requirements("nuitka"), packages.requirements("nuitka-build"))
    return os.path.join(roots.cache_folder(), "nuitka-%s-%s-%s" % (digest, python["id"], os.uname().machine))


def steps_of(python, source, aside):
    """The commands that compile the source into the folder `aside`."""
    venv = os.path.join(aside, "venv")
    install = [os.path.join(venv, "bin", "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
               "--require-hashes"]
    return [
        [python["exe"], "-m", "venv", venv],
        install + ["--only-binary", ":all:", "-r", packages.requirements("nuitka-build")],
        install + ["--no-binary", ":all:", "--no-build-isolation", "-r", packages.requirements("nuitka")],
        [os.path.join(venv, "bin", "python"), "-m", "nuitka", "--output-dir=" + aside, "--output-filename=program",
         "--remove-output", "--disable-ccache", source],
    ]


def build(python, source, log_file):
    aside = folder(python, source) + ".partial"
    shutil.rmtree(aside, ignore_errors=True)
    for words in steps_of(python, source, aside):
        try:
            subprocess.run(words, stdin=subprocess.DEVNULL, stdout=log_file, stderr=subprocess.STDOUT, timeout=TIMEOUT_S,
                           check=True)
        except (OSError, subprocess.SubprocessError) as error:
            raise roots.Unavailable("Nuitka could not compile %s (%s); see %s" % (source, error, log_file.name))
    shutil.rmtree(os.path.join(aside, "venv"))
    os.rename(aside, folder(python, source))


def ensure(python, source, log):
    """The path of the compiled program, made if need be."""
    program = os.path.join(folder(python, source), "program")
    if os.path.exists(program):
        return program
    if python["root"] or not os.path.exists(headers_of(python)):
        raise roots.Unavailable("no headers of %s to compile with" % python["id"])
    os.makedirs(roots.cache_folder(), exist_ok=True)
    with roots.locked(roots.cache_folder(), log):
        if not os.path.exists(program):
            log("compiling %s with Nuitka into %s" % (source, folder(python, source)))
            with open(folder(python, source) + ".log", "w", encoding="utf-8") as log_file:
                build(python, source, log_file)
    return program

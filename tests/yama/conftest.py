# SPDX-License-Identifier: Apache-2.0
"""Fixture: a machine of its own in an emulator, whose first process is one of the scripts here."""

import json
import os
import pathlib
import re
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TREE, "tests", "setup"))
import kernel  # noqa: E402
import roots  # noqa: E402

BUILD = os.path.abspath(os.environ.get("PYSTROBE_BUILD", os.path.join(TREE, "build")))
PROGRAMS = ["/usr/bin/setpriv", "/usr/bin/mount", os.path.realpath(sys.executable)]
SHARED = os.path.join(HERE, "machine.py")
LOADED = "libcurl.so.4"  # which an agent is not linked to


def archive(script):
    files = kernel.Archive()
    text, shared = (pathlib.Path(path).read_text(encoding="utf-8") for path in (script, SHARED))
    modules = re.findall(r"^import (\w+)", text + shared, re.MULTILINE) + ["encodings.idna", "encodings.ascii", "encodings.utf_8"]
    library = re.search(r"%s .*=> (\S+)" % re.escape(LOADED), kernel.output_of(["/sbin/ldconfig", "-p"]))
    for path in sorted(kernel.python_modules(modules)) + PROGRAMS + ([library[1]] if library else []):
        files.add_host(path)
    files.add_host(os.path.join(BUILD, "pystrobe"), "/usr/bin/pystrobe")
    files.add_link("/usr/bin/python3", os.path.realpath(sys.executable))
    files.add("/init", text.encode())
    files.add(os.path.join(os.path.dirname(os.__file__), os.path.basename(SHARED)), shared.encode())
    return files


@pytest.fixture(scope="session")
def guest():
    """guest(script, seconds) boots it and gives the objects that it wrote to the console."""

    def boot(script, seconds):
        why = kernel.why_not()
        folder = os.path.join(BUILD, "yama")
        os.makedirs(folder, exist_ok=True)
        try:
            if why:
                raise roots.Unavailable(why)
            text = kernel.boot(archive(os.path.join(HERE, script)), folder, seconds, print)
        except roots.Unavailable as error:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(str(error))
        with open(os.path.join(folder, script + ".log"), "w", encoding="utf-8") as file:
            file.write(text)
        return [json.loads(line) for line in re.findall(r"^guest: (.*)$", text, re.MULTILINE)]

    return boot

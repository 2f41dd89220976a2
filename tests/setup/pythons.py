#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds the CPythons that the live tests run against, and gets those that Debian or Maven Central has.

Prints one JSON object a line: {"id", "version", "exe", "root", "inner", "prefix", "library",
"debug", "free_threaded", "found"} for each interpreter (`exe` as seen from outside; `inner`,
`prefix` and `library`, its libpython or "", as seen inside `root`; root is "" where no chroot
is needed), then {"missing", "why"} for each supported version that could not be had, builds without
the GIL ("3.13t") among them. With -o it says for each version what stands for it: interpreters, or
memory images only.

What the machine has comes first. Debian's newer suites have 3.11 and 3.13 to 3.15, Maven Central 3.7, 3.9, 3.10 and
3.12 for x86-64 (jars.py). No package that runs on Debian 12 has 3.6, 3.8 or a build without the GIL: these run
live only where the machine has them, as from a pyenv.

With CI=true a missing version is a failure if it could have been there: if a package has it, or
if the machine has a pyenv, where any version can be. So is one without a golden image.
"""

import argparse
import glob
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import jars  # noqa: E402
import roots  # noqa: E402

# What the unwinder knows, first and last (minor versions of CPython 3).
FIRST_MINOR = int(os.environ.get("PYSTROBE_FIRST_MINOR", "6"))
LAST_MINOR = int(os.environ.get("PYSTROBE_LAST_MINOR", "15"))
FIRST_FREE_THREADED = 13
GOLDEN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "golden", "unwind")
# Where Debian has them, in the order in which they are tried.
SUITES = {11: ("bookworm",), 13: ("sid", "forky", "trixie"), 14: ("sid", "forky"), 15: ("sid", "forky")}

PROBE = r"""
import json, os, sys, sysconfig
get = sysconfig.get_config_var
folders = [get("LIBDIR"), os.path.join(sys.base_prefix, "lib")] if get("Py_ENABLE_SHARED") else []
libraries = [os.path.join(folder, get("INSTSONAME")) for folder in folders]
print(json.dumps({
    "implementation": sys.implementation.name,
    "version": "%d.%d.%d" % sys.version_info[:3],
    "level": sys.version_info[3],
    "exe": sys.executable,
    "debug": hasattr(sys, "gettotalrefcount"),
    "free_threaded": bool(get("Py_GIL_DISABLED")),
    "prefix": sys.base_prefix,
    "library": next(filter(os.path.exists, libraries), ""),
}))
"""


def supported(minor):
    return FIRST_MINOR <= minor <= LAST_MINOR


def minor_of(version):
    return int(version.split(".")[1])


def probe(argv):
    """What the interpreter says of itself, or None if it is none that runs."""
    try:
        out = subprocess.run(
            argv + ["-I", "-c", PROBE], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, timeout=30, check=True, cwd="/",
        ).stdout
        return json.loads(out.decode())
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def is_program(path):
    """An executable that is no script: version managers put scripts of that name in PATH."""
    if not os.path.isfile(path) or not os.access(path, os.X_OK):
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def pyenv_roots():
    roots_of_pyenv = [os.path.join(os.path.expanduser("~"), ".pyenv"), os.environ.get("PYENV_ROOT")]
    return [root for root in roots_of_pyenv if root and os.path.isdir(os.path.join(root, "versions"))]


def folders():
    """Where interpreters lie, each with a word for how it was found."""
    home = os.path.expanduser("~")
    managers = {
        "pyenv": [os.path.join(root, "versions", "*", "bin") for root in pyenv_roots()],
        "asdf": [os.path.join(home, ".asdf", "installs", "python", "*", "bin")],
        "uv": [os.path.join(home, ".local", "share", "uv", "python", "*", "bin")],
        "opt": ["/opt/python*/bin", "/opt/python/*/bin"],
    }

    yield "debian" if os.path.exists("/etc/debian_version") else "system", "/usr/bin"
    for word, patterns in managers.items():
        for pattern in patterns:
            for folder in sorted(glob.glob(pattern)):
                yield word, folder
    yield "local", "/usr/local/bin"
    for folder in os.environ.get("PATH", "").split(":"):
        yield "path", folder


def candidates():
    for word, folder in folders():
        for minor in range(FIRST_MINOR, LAST_MINOR + 1):
            for suffix in ("", "d", "-dbg", "t"):
                yield word, os.path.join(folder, "python3.%d%s" % (minor, suffix))


def make_entry(facts, word, found, root=""):
    parts = [facts["version"], word]
    if facts["free_threaded"]:
        parts.append("ft")
    if facts["debug"]:
        parts.append("dbg")
    return {
        "id": "-".join(parts), "version": facts["version"],
        "exe": root + facts["exe"], "root": root, "inner": facts["exe"],
        "prefix": facts["prefix"], "library": facts["library"],
        "debug": facts["debug"], "free_threaded": facts["free_threaded"], "found": found,
    }


def on_this_machine():
    """Every supported CPython outside the cached roots, each once."""
    entries = []
    seen = set()
    for word, path in candidates():
        real = os.path.realpath(path)
        if real in seen or not is_program(path):
            continue
        seen.add(real)
        facts = probe([path])
        if facts and facts["implementation"] == "cpython" and supported(minor_of(facts["version"])):
            facts["exe"] = path
            entries.append(make_entry(facts, word, path))
    return entries


def inside(root, suite):
    """Every CPython that a cached root holds."""
    entries = []
    for minor in range(FIRST_MINOR, LAST_MINOR + 1):
        for suffix in ("", "-dbg"):
            inner = "/usr/bin/python3.%d%s" % (minor, suffix)
            if not is_program(root + inner):
                continue
            facts = probe(roots.as_root() + ["chroot", root, inner])
            if facts:
                facts["exe"] = inner
                entries.append(make_entry(facts, "debian", "debian " + suite, root))
    return entries


def packages_of(suite):
    """The interpreters to look for in a suite, with their debug builds."""
    minors = sorted(m for m in SUITES if suite in SUITES[m] and supported(m))
    return ["python3.%d%s" % (minor, suffix) for minor in minors for suffix in ("", "-dbg")]


def from_debian(minors, install, log):
    """Gives (entries, {minor: why it could not be had})."""
    tried = {}  # suite -> its entries, or the reason why there are none
    missing = {}
    for minor in sorted(minors, reverse=True):
        for suite in SUITES[minor]:
            if suite not in tried:
                try:
                    root = roots.ensure(suite, "pythons", packages_of(suite), install, log)
                    tried[suite] = inside(root, suite)
                except roots.Unavailable as reason:
                    tried[suite] = str(reason)
            got = tried[suite]
            if isinstance(got, list) and any(minor_of(e["version"]) == minor for e in got):
                missing.pop(minor, None)
                break
            why = got if isinstance(got, str) else "it is not packaged there"
            missing[minor] = "; ".join(filter(None, [missing.get(minor), "%s: %s" % (suite, why)]))
    return [e for got in tried.values() if isinstance(got, list) for e in got], missing


def from_maven(minors, install, log):
    """Gives (entries, {minor: why it could not be had})."""
    entries = []
    missing = {}
    for minor in minors:
        try:
            path = jars.ensure(minor, install, log)
            facts = probe([path])
            if not facts:
                raise roots.Unavailable("%s does not run here" % path)
            facts["exe"] = path
            entries.append(make_entry(facts, "maven", path))
        except roots.Unavailable as reason:
            missing[minor] = "Maven: %s" % reason
    return entries, missing


def unique(entries):
    """Two installations of one version keep both, told apart by a number."""
    count = {}
    for entry in entries:
        count[entry["id"]] = count.get(entry["id"], 0) + 1
        if count[entry["id"]] > 1:
            entry["id"] += "-%d" % count[entry["id"]]
    return entries


def name_of(minor, free_threaded=False):
    return "3.%d%s" % (minor, "t" if free_threaded else "")


def why_not(entries, why):
    """{name: why} of each supported version that no entry has, builds without the GIL among them."""
    have = {(minor_of(e["version"]), e["free_threaded"]) for e in entries}
    nowhere = "no package has it for this machine, and none is installed"
    missing = {name_of(m): why.get(m, nowhere) for m in range(FIRST_MINOR, LAST_MINOR + 1)
               if (m, False) not in have}
    for minor in range(max(FIRST_MINOR, FIRST_FREE_THREADED), LAST_MINOR + 1):
        if (minor, True) not in have:
            missing[name_of(minor, True)] = nowhere
    return missing


def find(install=False, log=lambda text: None):
    """Gives (entries sorted by version, {version: why missing})."""
    entries = on_this_machine()
    here = {minor_of(e["version"]) for e in entries if e["found"].startswith("/usr/bin/")}
    minors = [m for m in SUITES if supported(m) and m not in here]
    more, why = from_debian(minors, install, log)
    entries += more
    have = {minor_of(e["version"]) for e in entries}
    for minor in set(why) & have:
        log("3.%d from Debian could not be had (%s); another build stands in" % (minor, why[minor]))
    more, why_no_jar = from_maven([m for m in jars.JARS if supported(m) and m not in have], install, log)
    entries += more
    missing = why_not(entries, dict(why, **why_no_jar))
    entries.sort(key=lambda e: [int(n) for n in e["version"].split(".")] + [len(e["id"]), e["id"]])
    return unique(entries), missing


def order_of(name):
    """Sorts names of versions: 3.9, 3.13, 3.13t."""
    return int(name[2:].rstrip("t")), name


def needed_in_ci(name):
    """Whether a CI run without that interpreter proves too little."""
    minor, free_threaded = minor_of(name.rstrip("t")), name.endswith("t")
    could_be_there = minor in SUITES or minor in jars.JARS or bool(pyenv_roots())
    return not free_threaded and (could_be_there or not has_golden_image(minor))


def has_golden_image(minor):
    return bool(glob.glob(os.path.join(GOLDEN, "3.%d.*.img" % minor)))


def matrix(entries, missing):
    """What stands for each version, a line each, and a last one if images alone stand for some."""
    for minor in range(FIRST_MINOR, LAST_MINOR + 1):
        ids = [e["id"] for e in entries if minor_of(e["version"]) == minor]
        words = ids or ["golden image only" if has_golden_image(minor) else "nothing",
                        "(%s)" % missing.get(name_of(minor), "not looked for")]
        yield "%-5s %s" % (name_of(minor), " ".join(words))
    if missing:
        yield "covered by memory images only: " + " ".join(sorted(missing, key=order_of))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-install", action="store_true", help="only look, build no root")
    parser.add_argument("-o", "--output", help="write the list there instead of to stdout")
    args = parser.parse_args()

    def log(text):
        print("pythons: " + text, file=sys.stderr)

    entries, missing = find(not args.no_install, log)
    lines = entries + [{"missing": name, "why": missing[name]} for name in sorted(missing, key=order_of)]
    text = "".join(json.dumps(line, sort_keys=True) + "\n" for line in lines)
    if args.output:
        os.makedirs(os.path.dirname(os.path.abspath(args.output)), exist_ok=True)
        with open(args.output + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(args.output + ".new", args.output)
        for line in matrix(entries, missing):
            log(line)
    else:
        sys.stdout.write(text)
    if os.environ.get("CI") != "true":
        return 0
    failed = [name for name in sorted(missing, key=order_of) if needed_in_ci(name)]
    if failed:
        log("a CI run needs " + " ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

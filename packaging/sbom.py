#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what a pystrobe is made of as an SPDX 2.3 document: sbom.py --version V --linked L PROGRAM

The list is read from the programs: each library that L is linked to, with the package that the
library came from on the machine that built it. L is PROGRAM, but linked to what that loads only
when it needs it. The same programs give the same bytes.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import time

LICENSES = {  # of what is linked, as its own project declares it; all that is not here is looked at by hand
    "libc6": "LGPL-2.1-or-later", "glibc": "LGPL-2.1-or-later",
    "libcurl4": "curl", "libcurl4t64": "curl", "libcurl": "curl", "libcurl-minimal": "curl",
    "libdeflate0": "MIT", "libdeflate": "MIT",
    "libinih1": "BSD-3-Clause", "inih": "BSD-3-Clause",
    "libmicrohttpd12": "LGPL-2.1-or-later", "libmicrohttpd12t64": "LGPL-2.1-or-later",
    "libmicrohttpd": "LGPL-2.1-or-later",
    "libncursesw6": "X11-distribute-modifications-variant", "libtinfo6": "X11-distribute-modifications-variant",
    "ncurses-libs": "X11-distribute-modifications-variant",
    "libprotobuf-c1": "BSD-2-Clause", "protobuf-c": "BSD-2-Clause",
    "zlib1g": "Zlib", "zlib": "Zlib", "zlib-ng-compat": "Zlib",
}


def output_of(*argv):
    try:
        return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True,
                              env=dict(os.environ, LC_ALL="C")).stdout.decode()
    except (OSError, subprocess.CalledProcessError):
        return ""


def machine_of(program):
    """As compilers call it: x86_64, aarch64."""
    match = re.search(r"Machine:\s+(.*)", output_of("readelf", "-h", program))
    return {"Advanced Micro Devices X86-64": "x86_64", "AArch64": "aarch64"}.get(match[1], match[1])


def linked_to(program):
    return sorted(re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "-d", program)))


def path_of(library, machine):
    triplet = machine + "-linux-gnu"
    for folder in ["/usr/lib/" + triplet, "/lib/" + triplet, "/usr/" + triplet + "/lib", "/usr/lib64", "/lib64",
                   "/usr/lib", "/lib", "/usr/local/lib"]:
        if os.path.exists(os.path.join(folder, library)):
            return os.path.join(folder, library)
    raise SystemExit("sbom: %s is linked and cannot be found" % library)


def owner_by_dpkg(path):
    for candidate in (path, os.path.realpath(path), re.sub("^/usr", "", os.path.realpath(path))):
        found = output_of("dpkg-query", "-S", candidate).split(": ")[0]
        if found:
            name, version, arch = output_of(
                "dpkg-query", "-W", "-f", "${Package} ${Version} ${Architecture}", found).split()
            return name, version, "pkg:deb/debian/%s@%s?arch=%s" % (name, version, arch)
    return None


def owner_by_rpm(path):
    found = output_of("rpm", "-qf", "--qf", "%{NAME} %{VERSION}-%{RELEASE} %{ARCH}\n", path).split()
    return (found[0], found[1], "pkg:rpm/%s@%s?arch=%s" % tuple(found)) if len(found) == 3 else None


def owner_of(path):
    """(name, version, purl) of the package that a file came with."""
    return owner_by_dpkg(path) or owner_by_rpm(path) or (os.path.basename(path), "unknown", None)


def package(name, version, purl, license_id):
    entry = {
        "SPDXID": "SPDXRef-Package-" + re.sub(r"[^A-Za-z0-9.-]", "-", name), "name": name, "versionInfo": version,
        "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION", "licenseDeclared": license_id, "copyrightText": "NOASSERTION",
    }
    if purl:
        entry["externalRefs"] = [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]
    return entry


def document(program, linked, version, revision, epoch):
    with open(program, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    machine = machine_of(program)
    own = package("pystrobe", version, "pkg:generic/pystrobe@%s?vcs_revision=%s" % (version, revision), "Apache-2.0")
    own["primaryPackagePurpose"] = "APPLICATION"
    owners = {}
    for library in linked_to(linked):
        name, *rest = owner_of(path_of(library, machine))
        owners.setdefault(name, (rest, []))[1].append(library)
    others, at_start = [], set(linked_to(program))
    for name, ((number, purl), libraries) in sorted(owners.items()):
        when = "when it starts" if at_start & set(libraries) else "when it is needed"
        others.append(dict(package(name, number, purl, LICENSES.get(name, "NOASSERTION")),
                           comment="loaded %s: %s" % (when, " ".join(libraries)), primaryPackagePurpose="LIBRARY"))
    links = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
              "relatedSpdxElement": own["SPDXID"]}]
    links += [{"spdxElementId": own["SPDXID"], "relationshipType": "DYNAMIC_LINK", "relatedSpdxElement": one["SPDXID"]}
              for one in others]
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": "pystrobe-%s-%s" % (version, machine),
        "documentNamespace": "https://spdx.org/spdxdocs/pystrobe-%s-%s" % (version, digest),
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch)),
                         "creators": ["Tool: pystrobe-sbom"]},
        "packages": [own] + others, "relationships": links,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", required=True)
    parser.add_argument("--revision", default="unknown")
    parser.add_argument("--linked", required=True)
    parser.add_argument("program")
    args = parser.parse_args()
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
    print(json.dumps(document(args.program, args.linked, args.version, args.revision, epoch), indent=2))


if __name__ == "__main__":
    main()

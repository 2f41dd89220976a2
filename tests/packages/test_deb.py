# SPDX-License-Identifier: Apache-2.0
"""The Debian package as a file: what is in it, what checkers say of it, and that it can be made again."""

import filecmp
import glob
import gzip
import json
import os
import re
import subprocess

import machine as machines
import pytest
import roots
from conftest import BUILD, TREE, unavailable

EXPOSURE_MAX = 18  # of 100, as --threshold counts: 1.8
# What systemd-analyze calls otherwise than one would look for.
HOLES = {"RootDirectoryOrRootImage": "RootDirectory", "CAP_DAC_FOWNER_IPC_OWNER": "CAP_DAC_READ_SEARCH",
         "AF_INET_INET6": "AF_INET6"}
YEAR_LATER = "+400 days"


def output_of(argv, **options):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, **options)
    text = done.stdout.decode(errors="replace")
    assert done.returncode == 0, "%s ended with %d:\n%s" % (argv, done.returncode, text[-4000:])
    return text


@pytest.fixture(scope="module")
def files(deb, tmp_path_factory):
    """The folder that the package is unpacked in."""
    folder = tmp_path_factory.mktemp("deb")
    output_of(["dpkg-deb", "-x", deb, str(folder)])
    return folder


def test_lintian_has_nothing_to_say(deb):
    changes = re.sub(r"\.deb$", ".changes", deb)
    # Lintian looks for words in machine code, too: there, a text that is compared and the next instruction make one.
    said = output_of(["lintian", "--allow-root", "-EI", "--pedantic", "--fail-on", "error,warning,info,pedantic",
                      "--suppress-tags", "spelling-error-in-binary", changes])

    assert not [line for line in said.splitlines() if line[:3] in ("E: ", "W: ", "I: ", "P: ")]


def test_only_system_libraries_are_needed(deb):
    depends = output_of(["dpkg-deb", "-f", deb, "Depends"])
    names = {re.split(r"[ :(]", one.strip())[0] for one in depends.split(",")}

    assert names == {"libc6", "libcurl4", "libdeflate0", "libinih1", "libmicrohttpd12", "libncursesw6",
                     "libprotobuf-c1", "libtinfo6", "zlib1g", "systemd"}
    print("%d bytes; %s" % (os.path.getsize(deb), depends.strip()))


def test_the_sbom_names_what_is_linked(deb, files):
    with gzip.open(str(files / "usr/share/doc/pystrobe/pystrobe.spdx.json.gz"), "rt", encoding="utf-8") as file:
        sbom = json.load(file)
    depends = set(re.findall(r"\b(lib[a-z0-9-]+|zlib1g)\b", output_of(["dpkg-deb", "-f", deb, "Depends"])))
    linked = {one["relatedSpdxElement"] for one in sbom["relationships"] if one["relationshipType"] == "DYNAMIC_LINK"}

    assert sbom["spdxVersion"] == "SPDX-2.3"
    assert {one["name"] for one in sbom["packages"]} == depends | {"pystrobe"}
    assert linked == {"SPDXRef-Package-" + name for name in depends}
    for one in sbom["packages"]:
        assert one["versionInfo"] != "unknown" and one["licenseDeclared"] != "NOASSERTION"
        assert one["externalRefs"][0]["referenceLocator"].startswith("pkg:")


def test_the_manual_is_there_as_html(files):
    folder = files / "usr/share/doc/pystrobe/html"

    assert sorted(os.listdir(folder)) == ["manual.css", "pystrobe.8.html", "pystrobe.ini.5.html"]
    assert 'href="pystrobe.ini.5.html"' in (folder / "pystrobe.8.html").read_text(encoding="utf-8")


def test_the_unit_is_exposed_by_no_more_than_is_promised(files):
    unit = glob.glob(str(files / "*lib/systemd/system/pystrobe.service"))[0]
    said = output_of(["systemd-analyze", "security", "--offline=true", "--threshold=%d" % EXPOSURE_MAX, unit])

    print(said.strip().splitlines()[-1])


def test_each_right_and_each_hole_of_the_unit_has_its_reason_in_the_manual(files):
    unit = glob.glob(str(files / "*lib/systemd/system/pystrobe.service"))[0]
    checks = json.loads(output_of(["systemd-analyze", "security", "--offline=true", "--json=short", unit]))
    with gzip.open(str(files / "usr/share/man/man8/pystrobe.8.gz"), "rt", encoding="utf-8") as file:
        manual = re.search(r"^\.Sh THE SERVICE\n(.*?)^\.Sh ", file.read(), re.MULTILINE | re.DOTALL)[1]
    holes = {re.sub(r"^(RestrictAddressFamilies|CapabilityBoundingSet)_", "", check["json_field"])
             for check in checks if float(check["exposure"] or 0) > 0}
    words = {HOLES.get(hole, hole) for hole in holes}

    assert "CAP_SYS_PTRACE" in words and not {word for word in words if word not in manual}


def test_the_ini_file_is_the_only_configuration(deb):
    assert output_of(["dpkg-deb", "-I", deb, "conffiles"]).split() == ["/etc/pystrobe/pystrobe.ini"]


def test_the_installed_ini_is_valid_and_sends_nothing(files):
    program, ini = str(files / "usr/bin/pystrobe"), str(files / "etc/pystrobe/pystrobe.ini")

    settings = output_of([program, "config", "-c", ini])
    assert re.findall(r"^type = (\w+)", settings, re.MULTILINE) == ["store"]


def test_the_same_source_gives_the_same_bytes(deb, tmp_path):
    """Made again elsewhere, later, with another umask, language and time zone."""
    again = tmp_path / "quite-another-folder"
    env = dict(os.environ, LC_ALL="C.UTF-8", TZ="Asia/Kathmandu", HOME=str(tmp_path))
    output_of(["faketime", YEAR_LATER, "make", "deb", "BUILD=%s" % again], cwd=TREE, env=env,
              preexec_fn=lambda: os.umask(0o077))

    for made in glob.glob(os.path.join(BUILD, "dist", "*.tar.gz")):
        assert filecmp.cmp(made, str(again / "dist" / os.path.basename(made)), shallow=False)
    for made in glob.glob(re.sub(r"/pystrobe_([^/]*)$", r"/pystrobe*_\1", deb)):
        assert filecmp.cmp(made, str(again / "deb" / os.path.basename(made)), shallow=False), made


def test_the_packed_source_is_whole(tmp_path):
    archive = glob.glob(os.path.join(BUILD, "dist", "*.tar.gz"))[0]
    names = output_of(["tar", "-tzf", archive]).splitlines()
    top = names[0].split("/")[0]

    assert names == sorted(names, key=lambda name: name.rstrip("/").split("/"))
    assert {top + "/" + name for name in ("Makefile", "REVISION", "LICENSE", "packaging/debian/rules")} <= set(names)
    assert not [name for name in names if "/build/" in name or "/.git/" in name or name.endswith((".o", ".pyc"))]
    output_of(["tar", "-xzf", archive, "-C", str(tmp_path)])
    again = output_of(["make", "-s", "dist", "BUILD=%s" % (tmp_path / "b")], cwd=str(tmp_path / top))
    assert filecmp.cmp(archive, glob.glob(str(tmp_path / "b/dist/*.tar.gz"))[0], shallow=False), again


def test_piuparts_finds_nothing_left_behind(deb):
    why = machines.why_not()
    if why:
        unavailable(why)
    base = roots.ensure(machines.SUITE, "booted", machines.PACKAGES, True, print)
    said = output_of(["piuparts", "--existing-chroot", base, "-d", machines.SUITE, "-m", roots.mirror() + " main",
                      "--no-eatmydata", "--warn-on-debsums-errors", deb], env=roots.environment())

    assert "PASS: All tests" in said

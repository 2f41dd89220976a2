# SPDX-License-Identifier: Apache-2.0
"""The RPM package: what a checker says of it, and its life on a system with systemd.

The system is a Debian, as no other can be had everywhere: its rpm runs the same scripts, but
knows nothing of the libraries that are there, so dependencies are compared by hand.
"""

import collections
import glob
import os
import re
import subprocess

import pytest
from conftest import BUILD, TREE, built
from machine import wait_until

UNIT = "pystrobe.service"
INI = "/etc/pystrobe/pystrobe.ini"
LIBRARIES = ["libcurl4", "libdeflate0", "libinih1", "libmicrohttpd12", "libncursesw6", "libprotobuf-c1", "zlib1g", "rpm"]
NEXT_VERSION = "99.0"
RPM = "rpm --nodeps --force-debian "
ON_DEBIAN = {"libinih.so.0": "libinih.so.1"}  # what Debian calls otherwise
Library = collections.namedtuple("Library", "how soname fedora el9 devel sources")


@pytest.fixture(scope="session")
def package():
    return built("rpm/pystrobe-*.rpm")


@pytest.fixture(scope="module")
def system(machine, package):
    """A machine with rpm, the libraries and the package's file, but without the package."""
    machine.install(*LIBRARIES)
    with open(package, "rb") as file:
        machine.write("/root/pystrobe.rpm", file.read())
    return machine


@pytest.fixture(scope="module")
def next_package(machine, tmp_path_factory):
    """The next version, with another ini file, on the machine."""
    folder = tmp_path_factory.mktemp("next")
    subprocess.run(["tar", "-C", str(folder), "--strip-components=1", "-xzf", built("dist/pystrobe-*.tar.gz")],
                   check=True)
    with open(str(folder / "packaging" / "host.ini"), "a", encoding="utf-8") as file:
        file.write("; new in this version\n")
    subprocess.run(["make", "-C", str(folder), "rpm", "BUILD=%s" % (folder / "b"), "VERSION=" + NEXT_VERSION],
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    with open(glob.glob(str(folder / "b/rpm/*.rpm"))[0], "rb") as file:
        machine.write("/root/next.rpm", file.read())
    return "/root/next.rpm"


@pytest.fixture
def installed(system):
    system.run(RPM + "-U --oldpackage --replacepkgs /root/pystrobe.rpm; "
               "systemctl enable pystrobe; systemctl restart pystrobe")
    return system


def main_pid(machine):
    return int(machine.show(UNIT, "MainPID"))


def query(package, *words):
    return subprocess.run(["rpm", "-qp"] + list(words) + [package], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          check=True).stdout.decode()


def test_rpmlint_has_nothing_to_say(package):
    config = os.path.join(TREE, "packaging", "rpm", "rpmlint.toml")
    done = subprocess.run(["rpmlint", "-c", config, package], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    said = done.stdout.decode()

    assert done.returncode == 0 and not re.search(r": [EW]: ", said), said


def read(*path):
    with open(os.path.join(TREE, *path), encoding="utf-8") as file:
        return file.read()


def libraries(how):
    """Those rows of the table."""
    lines = read("packaging", "rpm", "libraries.txt").splitlines()
    rows = [Library(*line.split()) for line in lines if line and not line.startswith("#")]
    return [row for row in rows if row.how == how]


def test_each_library_is_in_the_table_of_fedora_and_el9():
    dynamic = subprocess.run(["readelf", "-dW", os.path.join(BUILD, "pystrobe")], stdout=subprocess.PIPE, check=True).stdout
    linked = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic.decode()))
    sources = [path for folder in ("base", "unwind", "pprof", "formats", "conf", "exporters", "agent")
               for path in glob.glob(os.path.join(TREE, folder, "**", "*.c"), recursive=True)]
    loaded = {row.soname: row for row in libraries("loaded")}
    text = "".join(read(path) for path in sources)

    assert linked == {ON_DEBIAN.get(row.soname, row.soname) for row in libraries("linked")}
    assert set(re.findall(r'(?:\bdlopen\(|\.file = )"(lib[^"]*\.so[^"]*)"', text)) == set(loaded)
    told = dict(re.findall(r'\.file = "(lib[^"]*)",\s*\.packages = "([^"]*)"', text))
    assert set(told) == set(loaded)
    for soname, packages in told.items():
        assert packages.endswith(" or %s (Fedora)" % loaded[soname].fedora.split("|")[0])


def test_the_spec_file_requires_what_rpm_cannot_find():
    spec = read("packaging", "rpm", "pystrobe.spec.in")
    required = re.findall(r"^(?:Requires|Recommends|Suggests): +(lib\S+)", spec, re.MULTILINE)

    assert required == [row.soname + "()(64bit)" for row in libraries("loaded")]
    assert len(re.findall(r"^(?:Requires|Recommends)\S*: ", spec, re.MULTILINE)) == len(required) + 2  # a tool, certificates


def test_what_it_is_built_with_is_called_as_in_the_table():
    devel = {row.devel for how in ("linked", "loaded") for row in libraries(how)} - {"-"}
    spec = set(re.findall(r"^BuildRequires: +(\S+-devel)$", read("packaging", "rpm", "pystrobe.spec.in"), re.MULTILINE))
    installed = {line.split()[2] for line in read("tests", "setup", "deps.sh").splitlines() if line.startswith("build ")}

    assert spec == devel
    assert {name for name in installed if name.endswith("-devel")} == devel | {"glibc-devel"}


def test_the_package_requires_the_libraries_of_the_table_and_no_other(package):
    required = {re.split(r"\(", line)[0] for line in query(package, "-R").split("\n") if ".so" in line}

    assert required == {ON_DEBIAN.get(row.soname, row.soname) for how in ("linked", "loaded") for row in libraries(how)}
    print("%d bytes" % os.path.getsize(package))


def test_the_ini_file_is_configuration(package):
    assert query(package, "-c").split() == [INI]


def test_is_installed_and_waits_to_be_started(system):
    system.run(RPM + "-i /root/pystrobe.rpm")

    assert system.show(UNIT, "ActiveState") == "inactive"
    assert system.run("id -un pystrobe").strip() == "pystrobe"
    system.run("systemctl start pystrobe")
    assert "processes sampled" in wait_until("a status line", lambda: system.show(UNIT, "StatusText"))


def test_upgrade_keeps_the_edited_ini_and_restarts(installed, next_package):
    pid = main_pid(installed)
    installed.run("echo '; mine' >>%s" % INI)

    installed.run(RPM + "-U " + next_package)

    wait_until("it was restarted", lambda: main_pid(installed) not in (0, pid) and
               installed.show(UNIT, "ActiveState") == "active")
    assert installed.read(INI).endswith("; mine\n")
    assert "new in this version" in installed.read(INI + ".rpmnew")
    installed.run("rm %s.rpmnew" % INI)


def test_upgrade_leaves_a_disabled_service_disabled(installed, next_package):
    installed.run("systemctl disable --now pystrobe; %s -U --oldpackage --replacepkgs %s" % (RPM, next_package))

    assert installed.run("systemctl is-enabled pystrobe", check=False).strip() == "disabled"
    assert installed.show(UNIT, "ActiveState") == "inactive"


def test_erasing_stops_it_and_keeps_what_is_the_admins(installed):
    installed.run("grep -q mine %s || echo '; mine' >>%s" % (INI, INI))
    installed.run("rpm --force-debian -e pystrobe 2>&1")

    assert installed.run("systemctl is-active pystrobe", check=False).strip() == "inactive"
    kept = installed.run("ls /etc/pystrobe").split()
    assert "pystrobe.ini.rpmsave" in kept and "pystrobe.ini" not in kept
    assert "store" in installed.run("ls /var/lib/pystrobe")
    left = installed.run("find / -xdev -name '*pystrobe*' ! -path '/proc/*' ! -path '/root/*' ! -path '/sys/*' "
                         "! -path '/etc/pystrobe*' ! -path '/var/lib/pystrobe*' ! -name 'pystrobe-*'")
    assert left == ""

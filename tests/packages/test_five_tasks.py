# SPDX-License-Identifier: Apache-2.0
"""The newcomers' tasks of README that take a package or a container: on bare systems, by their commands as they stand.

None may print a warning or an error, or leave one in the journal. tests/setup/clean_root.py has the other tasks.
"""

import json
import os
import re

import engine as engines
import readme
from conftest import TREE
from machine import wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
README = os.path.join(TREE, "README.md")
HOME = "/home/newcomer"
# A user as Debian's installer makes one, and the file of names that it writes.
NEWCOMER = r"""
useradd -m newcomer
echo 'newcomer ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/newcomer
printf '127.0.0.1 localhost\n127.0.1.1 %s\n' "$(hostname)" >/etc/hosts"""
AS_NEWCOMER = "cd %s; exec setpriv --reuid=newcomer --regid=newcomer --init-groups bash -euo pipefail -c \"$1\"" % HOME
GET = "import sys, urllib.request as r; a = r.urlopen(sys.argv[1]); print(a.status); print(a.read().decode())"
HOTTEST = "find_address"  # of the shop
TWO_LINES = re.compile(r"^```dockerfile\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BUILD = "docker image inspect pystrobe >/dev/null 2>&1 || docker build -f packaging/docker/Dockerfile -t pystrobe .; "


def expect_no_complaint(text):
    assert not readme.complaints(text), text


def get(machine, path):
    """(status, body) of the page; None: there is no answer."""
    done = machine.try_run('python3 -c "$1" "http://localhost:7997/$2"', GET, path)
    status, _, body = done.stdout.decode().partition("\n")
    return (int(status), body) if done.returncode == 0 else None


def test_the_package_is_installed_and_shows_its_page(machine, deb):
    """By a user who may use sudo, and says yes where apt-get asks. The Python that is seen runs as another user."""
    with open(deb, "rb") as file:
        machine.write("%s/build/deb/%s" % (HOME, os.path.basename(deb)), file.read())
    with open(os.path.join(HERE, "spin.py"), encoding="utf-8") as file:
        machine.write("/srv/spin.py", file.read())
    machine.install("sudo")
    machine.run(NEWCOMER)
    machine.run("setpriv --reuid=65534 --regid=65534 --clear-groups python3 /srv/spin.py >/dev/null 2>&1 &")

    said = machine.run(AS_NEWCOMER, readme.task(README, "package").script, stdin=b"y\n")

    assert "exporter: local (store)" in said
    expect_no_complaint(said)
    status, page = get(machine, "")
    assert status == 200 and "<title>" in page
    wait_until("the page has the program", lambda: "spin" in
               [one["service"] for one in json.loads(get(machine, "api/services")[1])["services"]])
    expect_no_complaint(machine.run("journalctl --no-pager -u pystrobe"))
    # A sample takes longer where others want the CPU, as the other tests do: taking fewer is no false alarm then.
    told = machine.run("journalctl --no-pager -u pystrobe -p warning").splitlines()
    assert [line for line in told if "less often" not in line and "No entries" not in line and not line.startswith("-- ")] == []


def test_a_container_is_profiled_where_podman_is_docker_and_base_images_are_debootstraps(engine):
    task = readme.task(README, "container")

    with open(engine.root + "/srv/task.log", "w+", encoding="utf-8") as log:
        status = engine.run(task.script, engines.SOURCE, stdout=log, stderr=log).returncode
        log.seek(0)
        said = log.read()

    assert status == 0, said
    expect_no_complaint(said)
    folder = engine.root + engines.SOURCE
    assert not readme.missing_results(task.script, folder)
    with open(os.path.join(folder, "shop.html"), encoding="utf-8") as file:
        assert HOTTEST in file.read()


def test_two_lines_in_a_dockerfile_profile_a_container_from_its_start(engine):
    """And what is said of it then. The image has the shop as its app.py."""
    with open(README, encoding="utf-8") as file:
        (lines,) = TWO_LINES.findall(file.read())
    with open(os.path.join(engine.root + engines.SOURCE, "two-lines"), "w", encoding="utf-8") as file:
        file.write("FROM python:3\nCOPY tests/demo/shop.py app.py\n" + lines)
    script = BUILD + """docker build -q -f two-lines -t shop . && docker run -d --name CONTAINER shop --seconds 60
        for i in $(seq 60); do sleep 1; docker exec CONTAINER pystrobe report --store >report.txt 2>last.txt && break; done
        docker logs CONTAINER; docker rm -f -t 0 CONTAINER"""

    with open(engine.root + "/srv/lines.log", "w+", encoding="utf-8") as log:
        status = engine.run(script, engines.SOURCE, stdout=log, stderr=log).returncode
        log.seek(0)
        said = log.read()

    assert status == 0, said
    expect_no_complaint(said)
    with open(os.path.join(engine.root + engines.SOURCE, "report.txt"), encoding="utf-8") as file:
        assert HOTTEST in file.read()

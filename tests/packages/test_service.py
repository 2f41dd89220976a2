# SPDX-License-Identifier: Apache-2.0
"""The Debian package on a bare system with systemd: from its installation to its purge.

The tests share one machine, and each leaves the service installed and running as the package
brings it; the last ones take it away.
"""

import json
import os
import re
import time

import pytest
from machine import wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
UNIT = "pystrobe.service"
DROP_IN = "/run/systemd/system/pystrobe.service.d/test.conf"
INI = "/etc/pystrobe/pystrobe.ini"
EXTRA = "/etc/pystrobe/conf.d/test.ini"
STARTS_WITHIN_S = 5
IDLE_S = 5
IDLE_SHARE = 0.01  # of a core
ONLY_CAPABILITIES = (1 << 19) | (1 << 2)  # CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH
REACHES_NOBODY = "[exporter far]\ntype = pyroscope\nurl = http://127.0.0.1:9\nretry = 1h\n"


@pytest.fixture(scope="module")
def installed(machine, deb):
    with open(deb, "rb") as file:
        machine.write("/root/pystrobe.deb", file.read())
    for name in ("spin.py", "probe.py"):
        with open(os.path.join(HERE, name), encoding="utf-8") as file:
            machine.write("/srv/" + name, file.read())
    machine.install("/root/pystrobe.deb")
    return machine


@pytest.fixture
def service(installed):
    yield installed
    installed.run("rm -rf %s /etc/pystrobe/conf.d; systemctl daemon-reload; "
                  "systemctl reset-failed pystrobe; systemctl restart pystrobe" % os.path.dirname(DROP_IN))


def main_pid(machine):
    return int(machine.show(UNIT, "MainPID"))


def status(machine):
    """What the agent says of itself; None: it does not listen yet."""
    done = machine.try_run("pystrobe status --json")
    return json.loads(done.stdout) if done.returncode == 0 else None


def restart(machine):
    machine.run("systemctl daemon-reload; systemctl restart pystrobe")


@pytest.fixture
def start(service):
    """start(*COMMAND) runs it as another user until the test ends."""
    pids = []

    def start_one(*command):
        pids.append(service.run('setpriv --reuid=65534 --regid=65534 --clear-groups "$@" >/dev/null 2>&1 & echo $!',
                                *command).strip())
        return int(pids[-1])

    yield start_one
    service.run('kill -KILL "$@"', *pids)


def functions(machine, service_name):
    """The names in the profiles that the store has of a service."""
    done = machine.try_run('pystrobe report --json --store /var/lib/pystrobe/store --service "$1"', service_name)
    return {one["func"] for one in json.loads(done.stdout)["functions"]} if done.returncode == 0 else set()


def cpu_s(machine):
    """CPU time that the service has taken so far."""
    pids = machine.run("cat /proc/%d/task/*/children" % main_pid(machine)).split() + [str(main_pid(machine))]
    files = " ".join("/proc/%s/task/*/schedstat" % pid for pid in pids)
    return sum(int(line.split()[0]) for line in machine.run("cat " + files).splitlines()) / 1e9


def sampled(machine, service_name):
    """The target of that service that is being sampled, if there is one."""
    found = (status(machine) or {}).get("targets", [])
    return next((one for one in found if one["service"] == service_name and one["state"] == "sampled"), None)


def expect_sampled(machine, script):
    """A program that spins in SCRIPT.py is found, read, and in the store with its function."""
    machine.write(EXTRA, "[agent]\ninterval = 2s\n")
    machine.run("systemctl reload pystrobe")
    wait_until("%s is sampled" % script, lambda: sampled(machine, script))
    wait_until("%s is in the store" % script, lambda: "spin_here" in functions(machine, script))


def test_runs_once_it_is_installed(installed):
    assert installed.show(UNIT, "ActiveState") == "active"


@pytest.mark.nightly
def test_runs_within_five_seconds(installed):
    began, ready = (int(installed.show(UNIT, name)) for name in
                    ("InactiveExitTimestampMonotonic", "ActiveEnterTimestampMonotonic"))

    assert 0 < ready - began < STARTS_WITHIN_S * 1e6
    print("started in %.2f s" % ((ready - began) / 1e6))


def test_tells_systemd_how_it_fares(installed):
    wait_until("a status line", lambda: "processes sampled" in installed.show(UNIT, "StatusText"))


def test_has_two_capabilities_and_a_user_of_its_own(service, start):
    start("python3", "/srv/spin.py")
    wait_until("a sampler reads", lambda: sampled(service, "spin"))
    everyone = service.run("cat /proc/%d/task/*/children" % main_pid(service)).split() + [str(main_pid(service))]
    own = service.run("id -u pystrobe").strip()

    for one in everyone:
        text = service.read("/proc/%s/status" % one)
        assert re.search(r"^Uid:\t%s\t%s\t%s\t%s$" % ((own,) * 4), text, re.MULTILINE)
        for kind in ("Prm", "Eff", "Bnd"):
            assert int(re.search(r"^Cap%s:\t(\w+)$" % kind, text, re.MULTILINE)[1], 16) == ONLY_CAPABILITIES
        assert "\nNoNewPrivs:\t1\n" in text and "\nSeccomp:\t2\n" in text
    assert len(everyone) >= 2


def test_keeps_profiles_in_a_store_and_connects_to_nothing(installed):
    said = wait_until("it has started", lambda: status(installed))
    assert [one["type"] for one in said["exporters"]] == ["store"]
    inodes = set(re.findall(r"socket:\[(\d+)\]", installed.run("ls -l /proc/%d/fd" % main_pid(installed))))
    internet = installed.run("cat /proc/net/tcp /proc/net/tcp6 /proc/net/udp /proc/net/udp6")

    assert inodes and not inodes & {line.split()[9] for line in internet.splitlines()}


@pytest.mark.nightly
def test_rests_where_there_is_nothing_to_sample(installed):
    def share():
        before = cpu_s(installed)
        time.sleep(IDLE_S)
        return (cpu_s(installed) - before) / IDLE_S

    # At first it looks at each process again and again, ever more rarely.
    print("%.2f %% of a core" % (100 * wait_until("it rests", lambda: (lambda got: got < IDLE_SHARE and got)(share()))))


def test_samples_another_users_python(service, start):
    start("python3", "/srv/spin.py")
    expect_sampled(service, "spin")


def test_a_unit_is_chosen_and_names_its_processes(service, start):
    service.run("cp /srv/spin.py /srv/shop.py; systemd-run --unit=shop-web python3 /srv/shop.py")
    outside = start("python3", "/srv/shop.py")
    service.write(EXTRA, "[target python]\nsystemd_unit = shop-*.service\nservice = ${systemd_unit}\n")
    restart(service)
    wait_until("the unit is sampled", lambda: sampled(service, "shop-web.service"))
    targets = status(service)["targets"]

    assert [one["pid"] for one in targets if one["service"] == "shop-web.service"] == [int(service.show("shop-web", "MainPID"))]
    assert outside not in [one["pid"] for one in targets]
    service.run("systemctl stop shop-web; rm /srv/shop.py")


def test_samples_a_process_in_a_chroot_with_pids_of_its_own(service):
    pid = service.run("""
        cp /srv/spin.py /srv/caged.py
        unshare --mount --pid --fork --kill-child sh -euc '
            mount --bind / /mnt
            exec chroot --userspec=65534:65534 /mnt python3 /srv/caged.py' >/dev/null 2>&1 & echo $!""")
    expect_sampled(service, "caged")
    service.run("kill -KILL " + pid)


def test_samples_a_python_in_a_private_folder(service, start):
    service.run("""
        install -d -o nobody -m 700 /srv/private
        cp /usr/bin/python3.11 /srv/private/python3.11; cp /srv/spin.py /srv/private/hidden.py
        chown -R nobody /srv/private; chmod 500 /srv/private/python3.11""")
    start("/srv/private/python3.11", "/srv/private/hidden.py")
    expect_sampled(service, "hidden")


def test_reads_processes_and_can_do_nothing_else_to_them(service, start):
    pid = start("python3", "/srv/spin.py")
    wait_until("it is Python", lambda: "python3" in service.run("readlink /proc/%d/exe" % pid))
    address = re.search(r"^(\w+)-\w+ rw-p", service.read("/proc/%d/maps" % pid), re.MULTILINE)[1]
    service.write(DROP_IN, "[Service]\nExecPaths=/usr/bin/python3.11\n"
                           "ExecStartPre=/usr/bin/python3.11 /srv/probe.py %d 0x%s /var/lib/pystrobe/probe.json\n"
                  % (pid, address))
    restart(service)
    tried = json.loads(service.read("/var/lib/pystrobe/probe.json"))
    service.run("rm /var/lib/pystrobe/probe.json")
    allowed = {"read memory", "list its maps", "look into its root"}

    assert {name for name, outcome in tried.items() if outcome == "done"} == allowed, tried
    print(tried)


def test_reload_puts_new_settings_into_effect(service, start):
    start("python3", "/srv/spin.py")
    wait_until("it is sampled", lambda: sampled(service, "spin"))
    pid = main_pid(service)
    service.write(EXTRA, "[agent]\nrate = 49Hz\n")

    service.run("systemctl reload pystrobe")
    wait_until("the rate is new", lambda: (sampled(service, "spin") or {}).get("rate_hz") == 49)
    assert main_pid(service) == pid


def test_a_page_shows_the_store_from_within_the_unit(service, start):
    """What reads the store gives up its rights, without the call that the unit denies."""
    def ask(what):
        done = service.try_run("python3 -c 'import sys, urllib.request as r; print(r.urlopen(sys.argv[1]).read().decode())' "
                               "'http://127.0.0.1:7997/%s'" % what)
        return done.stdout.decode() if done.returncode == 0 else ""

    start("python3", "/srv/spin.py")
    expect_sampled(service, "spin")
    service.write(EXTRA, "[http]\nlisten = 127.0.0.1:7997\n")
    service.run("systemctl reload pystrobe")

    wait_until("the page is there", lambda: "<title>" in ask(""))
    services = json.loads(wait_until("it lists the store", lambda: ask("api/services")))["services"]
    folder = next(one["folder"] for one in services if one["service"] == "spin")
    query = "api/graph?service=%s&from=%d&to=%d" % (folder, 1000 * time.time() - 10**8, 1000 * time.time() + 10**6)
    assert "spin_here" in ask(query)


def test_reload_with_a_mistake_fails_and_changes_nothing(service):
    pid = main_pid(service)
    service.write(EXTRA, "[agent]\nrate = often\n")

    done = service.try_run("systemctl reload pystrobe")

    assert done.returncode != 0
    assert service.show(UNIT, "ActiveState") == "active" and main_pid(service) == pid
    assert "test.ini:2" in service.run("journalctl -u pystrobe --no-pager")
    assert "the last reload FAILED" in wait_until(
        "the status line says so", lambda: re.search(".*FAILED", service.show(UNIT, "StatusText")) and
        service.show(UNIT, "StatusText"))


def test_is_not_restarted_for_a_mistake_in_the_ini_file(service):
    service.write(EXTRA, "[agent]\nrate = often\n")

    done = service.try_run("systemctl restart pystrobe")

    assert done.returncode != 0
    wait_until("it has given up", lambda: service.show(UNIT, "ActiveState") == "failed")
    assert service.show(UNIT, "ExecMainStatus") == "78" and service.show(UNIT, "NRestarts") == "0"


def test_is_started_anew_when_its_main_loop_hangs(service):
    service.write(DROP_IN, "[Service]\nWatchdogSec=10\nRestartSec=1\n")
    restart(service)
    pid = main_pid(service)

    service.run("kill -STOP %d" % pid)
    wait_until("the watchdog has bitten", lambda: main_pid(service) not in (0, pid) and
               service.show(UNIT, "ActiveState") == "active")
    assert service.show(UNIT, "NRestarts") == "1"


def test_is_started_anew_after_a_crash(service):
    service.write(DROP_IN, "[Service]\nRestartSec=1\n")
    restart(service)
    pid = main_pid(service)

    service.run("kill -SEGV %d" % pid)
    wait_until("it runs again", lambda: main_pid(service) not in (0, pid) and
               service.show(UNIT, "ActiveState") == "active")


@pytest.mark.nightly
def test_stops_though_a_child_cannot_be_killed(service):
    """One that waits for a file system that does not answer, put into the unit as if it were a sampler."""
    with open(os.path.join(HERE, "..", "integration", "dead_files.py"), encoding="utf-8") as file:
        service.write("/srv/dead_files.py", file.read())
    service.run("[ -e /dev/fuse ] || mknod /dev/fuse c 10 229; mkdir -p /srv/dead")
    files = service.run("python3 -u /srv/dead_files.py /srv/dead >/srv/dead.log 2>&1 & echo $!").strip()
    wait_until("it is mounted", lambda: "mounted" in service.read("/srv/dead.log"))
    child = service.run("sh -c 'for file in $(find /sys/fs/cgroup -path \"*/pystrobe.service/cgroup.procs\"); do echo $$ >$file; done; "
                        "exec cat /srv/dead/file' >/dev/null 2>&1 & echo $!").strip()
    wait_until("it reads", lambda: "fuse" in service.run("cat /proc/%s/stack" % child))

    began = time.monotonic()
    service.run("systemctl stop pystrobe")
    took = time.monotonic() - began
    print("stopped in %.1f s; %s" % (took, service.show(UNIT, "Result")))
    assert " D " in service.read("/proc/%s/stat" % child)
    assert 20 < took < 30
    service.run("systemctl start pystrobe")
    assert service.show(UNIT, "ActiveState") == "active"
    service.run('kill -KILL "$1"; umount -l /srv/dead', files)


def next_version(machine):
    """The same package as its next version, with another ini file, as /root/next.deb."""
    machine.run("""
        rm -rf /root/next; dpkg-deb -R /root/pystrobe.deb /root/next
        sed -i 's/^Version: .*/&.1/' /root/next/DEBIAN/control
        echo '; new in this version' >>/root/next%s
        dpkg-deb --root-owner-group -b /root/next /root/next.deb""" % INI)


def spooled(machine):
    return (status(machine) or {}).get("spool", {}).get("entries", 0)


def test_upgrade_keeps_the_edited_ini_and_the_spool(service, start):
    next_version(service)
    service.run("echo '; mine' >>%s" % INI)
    service.write(EXTRA, "[agent]\ninterval = 1s\n\n" + REACHES_NOBODY)
    restart(service)
    start("python3", "/srv/spin.py")
    wait_until("profiles wait in the spool", lambda: spooled(service) >= 2)
    waiting, pid = set(service.run("ls /var/lib/pystrobe/spool | grep batch").split()), main_pid(service)

    service.run("dpkg -i --force-confold /root/next.deb")

    wait_until("the new one runs", lambda: main_pid(service) not in (0, pid) and status(service))
    assert service.read(INI).endswith("; mine\n")
    assert "new in this version" in service.read(INI + ".dpkg-dist")
    assert waiting <= set(service.run("ls /var/lib/pystrobe/spool | grep batch").split())
    service.run("rm %s.dpkg-dist; sed -i '/; mine/d' %s" % (INI, INI))


def test_upgrade_leaves_a_disabled_service_disabled(service):
    next_version(service)
    service.run("systemctl disable --now pystrobe; dpkg -i --force-confold /root/pystrobe.deb /root/next.deb")

    assert service.run("systemctl is-enabled pystrobe", check=False).strip() == "disabled"
    service.run("systemctl enable --now pystrobe")


def test_scripts_can_be_run_twice(service):
    service.run("""
        /var/lib/dpkg/info/pystrobe.postinst configure
        /var/lib/dpkg/info/pystrobe.postinst configure 0.0.1
        /var/lib/dpkg/info/pystrobe.prerm upgrade 9""")
    assert service.show(UNIT, "ActiveState") == "active"


def test_removal_keeps_settings_and_profiles_and_purge_leaves_nothing(installed):
    pid = main_pid(installed)
    installed.run("dpkg -r pystrobe")

    assert installed.run("ls -d /proc/%d" % pid, check=False).startswith("ls: cannot")
    assert installed.run("systemctl is-active pystrobe", check=False).strip() == "inactive"
    assert installed.read(INI)
    assert "store" in installed.run("ls /var/lib/pystrobe")

    installed.run("cp /var/lib/dpkg/info/pystrobe.postrm /root/postrm; dpkg -P pystrobe; sh /root/postrm purge")
    left = installed.run("find / -xdev -name '*pystrobe*' ! -path '/proc/*' ! -path '/root/*' ! -path '/sys/*' "
                         "! -path '/var/log/*' ! -name pystrobe-root.json ! -name pystrobe-tests; "
                         "ls -d /run/*pystrobe*", check=False)
    assert left == "ls: cannot access '/run/*pystrobe*': No such file or directory\n"

# SPDX-License-Identifier: Apache-2.0
"""Source lines: only those that the process could read itself, and none that is waited for."""

import json
import os
import re
import signal
import subprocess
import time

import pytest

import live
import profiles
from doctors import NOBODY, needs_root
from held import Held, looks_once_more

SECRET = "the_root_password = 42"
# Runs code that says it is from the file in its first argument, for so many seconds of CPU time.
NAMING = ("import sys, time\n"
          "exec(compile('import time\\nend = time.process_time() + float(seconds)\\n'\n"
          "             'while time.process_time() < end: sum(range(500))\\n', sys.argv[1], 'exec'),\n"
          "     {'seconds': sys.argv[2]})\n")
LATE_S = 60  # far more than the limit of source_reader.h, far less than for ever

pytestmark = needs_root


def naming(file, seconds):
    return ["/usr/bin/python3", "-c", NAMING, str(file), str(seconds)]


def sources_of(page):
    """{file: its source or None} of a heat map."""
    text = page.read_text(encoding="utf-8")
    data = json.loads(re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', text, re.S).group(1))
    return {entry[0]: entry[3] and "\n".join(piece[1] for piece in entry[3]) for entry in data["files"]}


@pytest.fixture
def secret(open_folder):
    file = open_folder / "settings.py"
    file.write_text("# first\n# second\n" + SECRET + "\n")
    file.chmod(0o600)
    return file


@pytest.fixture
def target():
    """target(words) starts a program that ends with the test."""
    running = []

    def start(words):
        running.append(subprocess.Popen(words, stdout=subprocess.DEVNULL))
        return running[-1]

    yield start
    for one in running:
        one.kill()
        one.wait()


def user_of(pid):
    """The user whose files it opens."""
    with open("/proc/%d/status" % pid, encoding="utf-8") as file:
        return int([line for line in file if line.startswith("Uid:")][0].split()[4])


def mode_of(path):
    return os.stat(path).st_mode & 0o777


def test_a_heat_map_of_roots_shows_no_line_that_the_program_could_not_read(pystrobe, target, secret, tmp_path):
    process = target([*NOBODY, *naming(secret, 100)])
    page = tmp_path / "out.heatmap.html"
    done = pystrobe.run("record", "-d", "1s", "--pid", process.pid, "-o", page)

    assert done.returncode == 0, done.stderr
    assert sources_of(page)[str(secret)] is None
    assert SECRET not in page.read_text()
    assert mode_of(page) == 0o600


def test_a_heat_map_shows_the_lines_that_the_program_can_read(pystrobe, target, secret, tmp_path):
    secret.chmod(0o644)
    process = target([*NOBODY, *naming(secret, 100)])
    page = tmp_path / "out.heatmap.html"
    done = pystrobe.run("record", "-d", "1s", "--pid", process.pid, "-o", page)

    assert done.returncode == 0, done.stderr
    assert SECRET in sources_of(page)[str(secret)]
    assert os.listdir(tmp_path) == ["out.heatmap.html"] or set(os.listdir(tmp_path)) == {"out.heatmap.html", secret.parent.name}


def test_a_recording_of_ones_own_processes_is_as_readable_as_any_file(pystrobe, secret, tmp_path):
    page, profile = tmp_path / "out.heatmap.html", tmp_path / "out.pb.gz"
    assert pystrobe.run("record", "-o", page, "--", *naming(secret, 0.5)).returncode == 0
    assert pystrobe.run("record", "-o", profile, "--", *naming(secret, 0.5)).returncode == 0

    assert SECRET in sources_of(page)[str(secret)]
    umask = os.umask(0)
    os.umask(umask)
    assert mode_of(page) == mode_of(profile) == 0o666 & ~umask


def test_the_file_of_a_process_in_another_root_is_that_roots(pystrobe, target, open_folder, tmp_path):
    """Its names start at its own root: a file of the host that is called so is another one."""
    if subprocess.run(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("there are no mounts of one's own here, as in a chroot")
    inside = open_folder / "inside"
    inside.mkdir()
    (inside / "app.py").write_text("# the host's\n")
    covered = open_folder / "covered"
    covered.mkdir()
    (covered / "app.py").write_text("# the container's\n")
    process = target(["unshare", "--mount", "sh", "-c", 'mount --bind "$1" "$2" && shift 2 && exec "$@"', "sh", str(covered),
                      str(inside), *naming(inside / "app.py", 100)])
    live.wait_until(lambda: "python" in os.readlink("/proc/%d/exe" % process.pid), "it runs Python")
    page = tmp_path / "out.heatmap.html"
    done = pystrobe.run("record", "-d", "1s", "--pid", process.pid, "-o", page)

    assert done.returncode == 0, done.stderr
    assert "the container's" in sources_of(page)[str(inside / "app.py")]


# Runs code that says it is from the file in its first argument, prints a line there, and gives its rights up when it gets
# one.
DROPPING = NAMING.replace("'import time\\n", "'import time; print(flush=True)\\n") \
                 .replace("import sys, time\n", "import os, sys, threading, time\n"
                          "def drop():\n"
                          "    sys.stdin.readline()\n"
                          "    os.setgroups([]), os.setgid(65534), os.setuid(65534)\n"
                          "threading.Thread(target=drop, daemon=True).start()\n")


def dropping(secret):
    """A program of DROPPING, which runs the code of `secret`."""
    process = live.Target(["/usr/bin/python3", "-c", DROPPING, str(secret), "1000"])
    process.process.stdout.readline()
    return process


def test_a_recording_of_what_gave_up_its_rights_shows_no_line(pystrobe, secret, tmp_path):
    """What it names then may be root's, whose rights it had at first."""
    page = tmp_path / "out.heatmap.html"
    process = dropping(secret)
    recording = subprocess.Popen([*pystrobe.words, pystrobe.path, "record", "--pid", str(process.pid), "-o", page],
                                 stderr=subprocess.PIPE, text=True)
    try:
        live.wait_until(lambda: (process.pid, "/task/") in profiles.opened_by(recording.pid), "it is sampled")
        process.process.stdin.write(b"\n")
        process.process.stdin.flush()
        live.wait_until(lambda: user_of(process.pid) == 65534, "it is nobody")
        recording.send_signal(signal.SIGINT)
        _, err = recording.communicate(timeout=LATE_S)
    finally:
        recording.kill()
        process.stop()

    assert recording.returncode == 0, err
    assert sources_of(page)[str(secret)] is None
    assert SECRET not in page.read_text()
    assert "than when it was first read" in err


def test_dump_shows_no_line_of_what_gives_up_its_rights(pystrobe, secret):
    process = dropping(secret)
    dump = Held([*pystrobe.words, pystrobe.path, "dump", "--source", "--pid", process.pid])
    try:
        live.wait_until(lambda: SECRET in pystrobe.run("dump", "--source", "--pid", process.pid).stdout, "the line, while it is root's")
        dump.hold(looks_once_more)
        process.process.stdin.write(b"\n")
        process.process.stdin.flush()
        live.wait_until(lambda: user_of(process.pid) == 65534, "it is nobody")
        status, out, err = dump.finish()
    finally:
        process.stop()

    assert status == 0 and str(secret) in out and SECRET not in out
    assert "no source lines are shown" in err


def both_users(secret):
    """A command that runs a program of root's and one of nobody's, which names root's file."""
    return ["sh", "-c", 'setpriv --reuid=65534 --regid=65534 --clear-groups "$@" & "$@"; wait', "sh", *naming(secret, 0.5)]


def test_a_profile_of_several_users_has_no_lines(pystrobe, secret, tmp_path):
    page = tmp_path / "out.heatmap.html"
    done = pystrobe.run("record", "-o", page, "--", *both_users(secret))

    assert done.returncode == 0, done.stderr
    assert set(sources_of(page).values()) == {None}
    assert done.stderr.count("no source lines: the processes have different users or roots") == 1
    assert mode_of(page) == 0o600


def test_with_a_file_for_each_process_each_has_its_own_lines(pystrobe, secret, tmp_path):
    done = pystrobe.run("record", "-o", tmp_path / "out-%p.heatmap.html", "--", *both_users(secret))
    found = [sources_of(page)[str(secret)] for page in tmp_path.glob("out-*.html")]

    assert done.returncode == 0, done.stderr
    assert sorted(SECRET in (source or "") for source in found) == [False, True]


def test_report_shows_lines_to_root_only_of_files_below_a_directory_that_it_names(pystrobe, secret, tmp_path):
    profile, page = tmp_path / "out.pb.gz", tmp_path / "out.heatmap.html"
    assert pystrobe.run("record", "-o", profile, "--", *NOBODY, *naming(secret, 0.5)).returncode == 0

    done = pystrobe.run("report", profile, "-o", page)
    assert done.returncode == 0 and "--source DIR" in done.stderr
    assert sources_of(page)[str(secret)] is None
    assert mode_of(page) == 0o600
    assert pystrobe.run("report", profile, "-o", page, "--source", "/usr").returncode == 0
    assert sources_of(page)[str(secret)] is None
    assert pystrobe.run("report", profile, "-o", page, "--source", secret.parent).returncode == 0
    assert SECRET in sources_of(page)[str(secret)]
    assert mode_of(page) == 0o600


def test_report_shows_no_lines_of_what_others_have_written(open_pystrobe, secret, open_folder):
    """A user who reports root's profile has rights that a process which root recorded may lack."""
    secret.chmod(0o644)
    place = open_folder / "theirs"
    place.mkdir()
    place.chmod(0o777)
    profile = open_folder / "out.pb.gz"
    made = subprocess.run([open_pystrobe.path, "record", "-o", profile, "--", *naming(secret, 0.5)], stderr=subprocess.PIPE, text=True)
    assert made.returncode == 0, made.stderr
    profile.chmod(0o644)

    def report(name, *words):
        done = subprocess.run([*NOBODY, open_pystrobe.path, "report", profile, "-o", place / name, *words], cwd="/",
                              stderr=subprocess.PIPE, text=True)
        assert done.returncode == 0, done.stderr
        return sources_of(place / name)[str(secret)], done.stderr

    source, said = report("one.heatmap.html")
    assert source is None and "belong to another user" in said
    assert SECRET in report("two.heatmap.html", "--source", "/")[0]
    os.chown(profile, 65534, 65534)
    assert SECRET in report("three.heatmap.html")[0]


@pytest.mark.parametrize("words", [(), ("kill",)], ids=["not even SIGKILL", "nothing but SIGKILL"])
def test_dump_does_not_wait_for_a_file_system_that_does_not_answer(pystrobe, target, dead, words):
    process = target(naming(dead(*words).path / "app.py", 100))
    live.wait_until(lambda: "python" in os.readlink("/proc/%d/exe" % process.pid), "it runs Python")
    time.sleep(live.STOP_S)
    done = subprocess.run([pystrobe.path, "dump", "--source", "--pid", str(process.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=LATE_S)

    assert done.returncode == 0, done.stderr
    assert "app.py:3 in <module>" in done.stdout
    assert done.stderr.count("source files did not come within") == 1


def test_a_recording_is_not_lost_to_a_file_system_that_does_not_answer(pystrobe, target, dead, tmp_path):
    process = target(naming(dead().path / "app.py", 100))
    folder = tmp_path / "out"
    folder.mkdir()
    recording = subprocess.Popen([pystrobe.path, "record", "-d", "100s", "--pid", str(process.pid), "-o",
                                  folder / "out.heatmap.html"], stderr=subprocess.PIPE, text=True)
    time.sleep(2)
    recording.send_signal(signal.SIGTERM)
    live.wait_until(lambda: list(folder.glob("out.heatmap.html.*.pb.gz")) or recording.poll() is not None,
                    "the recording is on disk, though nothing is drawn")
    kept = list(folder.glob("*.pb.gz"))
    listed = pystrobe.run("report", kept[0]) if kept else None
    said = recording.communicate(timeout=LATE_S)[1]

    assert listed is None or "app.py" in listed.stdout
    assert kept, "it was drawn before anything was on disk"
    assert recording.returncode == 0, said
    assert said.count("source files did not come within") == 1
    lines = sources_of(folder / "out.heatmap.html")  # of what Python has run to start, there may be some
    assert [lines[file] for file in lines if file.endswith("/app.py")] == [None]
    assert os.listdir(folder) == ["out.heatmap.html"]

# SPDX-License-Identifier: Apache-2.0
"""All CPU time that the kernel counts of processes is in their profile: on stacks that were seen, or on a frame that says why not."""

import re
import subprocess

import pytest

import live
import profiles

SECOND_NS = 10**9
NOT_SEEN_NS = SECOND_NS // 20  # what a program uses before and after it asks for its own CPU time, which it may print late

BURN = """
import os, resource, sys, threading, time
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
def say():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(sum(one.ru_utime + one.ru_stime for one in used), flush=True)
"""

FORKS = BURN + """
for _ in range(int(sys.argv[1])):
    if os.fork() == 0:
        burn(float(sys.argv[2]))
        os._exit(0)
    os.wait()
say()
"""

THREADS = BURN + """
def long():
    burn(0.016)
def short():
    burn(0.004)
for _ in range(200):
    for work in (long, short):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        time.sleep(0.01)
say()
"""

NATIVE = BURN + """
import ctypes
library = ctypes.CDLL(sys.argv[1])
library.begin()
burn(1)
library.wait()
say()
"""

NATIVE_C = """
#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>

static pthread_t thread;

static void *work(void *ctx)
{
    struct timespec used = {0};

    prctl(PR_SET_NAME, "cruncher");
    while (used.tv_sec < 1)
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return ctx;
}

void begin(void)
{
    pthread_create(&thread, NULL, work, NULL);
}

void wait(void)
{
    pthread_join(thread, NULL);
}
"""

# It is known to Python, and runs none.
KNOWN_C = NATIVE_C.replace("work(void *ctx)", "unknown(void *ctx)").replace("void begin", """
int PyGILState_Ensure(void);
void PyGILState_Release(int state);
void *PyEval_SaveThread(void);
void PyEval_RestoreThread(void *thread);

static void *work(void *ctx)
{
    int state = PyGILState_Ensure();
    void *saved = PyEval_SaveThread();

    unknown(ctx);
    PyEval_RestoreThread(saved);
    PyGILState_Release(state);
    return ctx;
}

void begin""")

C_FORK = BURN + """
import ctypes
pid = ctypes.PyDLL(None).fork()  # Python is not told
if pid == 0:
    burn(1)
    os._exit(0)
os.waitpid(pid, 0)
say()
"""

# A shell works, and has a Python work.
SHELL = """
i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done
/usr/bin/python3 -c '%s
burn(0.5)'
times
""" % BURN

VFORK = BURN + """
import ctypes
library = ctypes.CDLL(sys.argv[1])
holder = threading.Thread(target=library.hold_child)
holder.start()
burn(1)
holder.join()
say()
"""

VFORK_C = """
#define _GNU_SOURCE
#include <sys/wait.h>
#include <unistd.h>

void hold_child(void)
{
    pid_t pid = vfork();

    if (pid == 0) {
        sleep(1);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}
"""


# Half of it beside another program on the same CPU.
CONTENDED = BURN + """
import subprocess
def alone():
    burn(1)
def contended():
    burn(1)
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
alone()
other = subprocess.Popen(["sh", "-c", "while :; do :; done"])
contended()
other.kill()
other.wait()
say()
"""


# All of it beside another program on the same CPU; in the first second its thread waits for the GIL now and then.
WAITS = BURN + """
import subprocess, threading
def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(100))
def helper():
    work(0.3)
def waits():
    work(1)
def goes_on():
    work(1)
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
other = subprocess.Popen(["sh", "-c", "while :; do :; done"])
thread = threading.Thread(target=helper)
thread.start()
waits()
thread.join()
goes_on()
other.kill()
other.wait()
say()
"""


def recorded(pystrobe, tmp_path, rate, *command):
    """(profiles, CPU time by the program's own word, what `record` said) of a command."""
    out = tmp_path / "out.pb.gz"
    done = pystrobe.run("record", "--stats=json", "-r", rate, "-o", out, "--", *command)
    assert done.returncode == 0, done.stderr
    return profiles.read(out), float(done.stdout) * SECOND_NS, done.stderr


def of_frame(found, name):
    """CPU time of stacks that have a function."""
    return profiles.total(found, "cpu", lambda sample: any(frame["func"] == name for frame in sample["stack"]))


@pytest.mark.parametrize("count, seconds", [(60, 0.02), (20, 0.2), (10, 0.5)])
def test_children_that_come_and_go_are_in_a_recording_whole(pystrobe, tmp_path, count, seconds):
    found, used_ns, said = recorded(pystrobe, tmp_path, 100, "/usr/bin/python3", "-c", FORKS, str(count), str(seconds))

    assert profiles.is_within(profiles.total(found, "cpu"), (used_ns, used_ns + NOT_SEEN_NS), 0.02), said
    by_class = live.stats_in(said)["cpu_ns"]
    assert sum(by_class.values()) == profiles.total(found, "cpu")
    assert by_class["before_first_sample"] == of_frame(found, "<CPU before the first sample>")
    assert by_class["ended_children"] == of_frame(found, "<CPU of children that ended unseen>")


@pytest.mark.parametrize("program, names", [(CONTENDED, ("alone", "contended")), (WAITS, ("waits", "goes_on"))],
                         ids=["half", "waits"])
def test_functions_have_their_own_cpu_time_whatever_else_wants_the_cpu(pystrobe, tmp_path, program, names):
    """A second of one function has half the CPU time of a second of another, or has waits that the other has not."""
    found, _, said = recorded(pystrobe, tmp_path, 100, "/usr/bin/python3", "-c", program)

    for name in names:
        assert profiles.is_within(of_frame(found, name), (SECOND_NS, SECOND_NS), 0.12), (name, said)


def test_all_that_a_command_has_used_is_in_a_recording(pystrobe, tmp_path):
    """Of programs without Python, too."""
    script = tmp_path / "work.sh"
    script.write_text(SHELL)
    out = tmp_path / "out.pb.gz"
    done = pystrobe.run("record", "-r", 100, "-o", out, "--", "sh", script)
    assert done.returncode == 0, done.stderr
    found = profiles.read(out)
    used = [sum(float(minutes) * 60 + float(seconds) for minutes, seconds in re.findall(r"(\d+)m([\d.]+)s", line))
            for line in done.stdout.splitlines()]
    used_ns = [int(seconds * SECOND_NS) for seconds in used]

    assert profiles.is_within(profiles.total(found, "cpu"), (sum(used_ns), sum(used_ns) + NOT_SEEN_NS), 0.02), done.stderr
    assert profiles.is_within(of_frame(found, "burn"), (SECOND_NS // 2, SECOND_NS // 2), 0.1), done.stderr
    assert of_frame(found, "<CPU of children that ended unseen>") >= 0.9 * used_ns[0]
    assert of_frame(found, "sh") >= 0.9 * used_ns[0]
    shells = [sample for profile in found for sample in profile["samples"] if sample["stack"][0]["func"] == "sh"]
    assert shells and all("since" in sample["labels"] for sample in shells)  # it was there before any Python


def test_all_that_a_command_has_used_is_in_the_profiles_of_exec(pystrobe, tmp_path):
    """Also of programs without Python, and of what is over before it is found."""
    script = tmp_path / "work.sh"
    script.write_text(SHELL)
    done = pystrobe.run("exec", "-r", 100, "-s", tmp_path / "store", "--", "sh", script)
    assert done.returncode == 0, done.stderr
    found = [profile for path in sorted((tmp_path / "store").rglob("*.pb.gz")) for profile in profiles.read(path)]
    used = [sum(float(minutes) * 60 + float(seconds) for minutes, seconds in re.findall(r"(\d+)m([\d.]+)s", line))
            for line in done.stdout.splitlines()]
    used_ns = int(sum(used) * SECOND_NS)

    assert profiles.is_within(profiles.total(found, "cpu"), (used_ns, used_ns + NOT_SEEN_NS), 0.02), done.stderr
    assert profiles.is_within(of_frame(found, "burn"), (SECOND_NS // 2, SECOND_NS // 2), 0.1), done.stderr


def test_threads_that_come_and_go_are_on_the_stacks_of_their_kind(pystrobe, tmp_path):
    """A sample each 53 ms meets few of them, and tells of all."""
    found, used_ns, said = recorded(pystrobe, tmp_path, 19, "/usr/bin/python3", "-c", THREADS)
    long, short = of_frame(found, "long"), of_frame(found, "short")

    assert profiles.is_within(profiles.total(found, "cpu"), (used_ns, used_ns + NOT_SEEN_NS), 0.02), said
    assert long + short > 0.75 * used_ns, said
    assert long > 1.5 * short > 0  # 4, on average


def library(tmp_path, source):
    """A C library of it."""
    (tmp_path / "native.c").write_text(source)
    subprocess.run(["cc", "-shared", "-fPIC", "-pthread", "-o", tmp_path / "native.so", tmp_path / "native.c"], check=True)
    return str(tmp_path / "native.so")


def test_a_thread_without_python_has_a_frame_with_its_name(pystrobe, tmp_path):
    found, used_ns, said = recorded(pystrobe, tmp_path, 100, "/usr/bin/python3", "-c", NATIVE, library(tmp_path, NATIVE_C))

    assert profiles.is_within(profiles.total(found, "cpu"), (used_ns, used_ns + NOT_SEEN_NS), 0.02), said
    # What it used after the last look at it, up to a quarter of a second before, is not known to be its own.
    assert 0.6 * SECOND_NS < of_frame(found, "<threads without Python>") < 1.1 * SECOND_NS
    assert of_frame(found, "cruncher") == of_frame(found, "<threads without Python>")


def test_a_thread_of_c_that_python_knows_has_a_frame(pystrobe, tmp_path):
    found, used_ns, said = recorded(pystrobe, tmp_path, 100, "/usr/bin/python3", "-c", NATIVE, library(tmp_path, KNOWN_C))

    assert profiles.is_within(profiles.total(found, "cpu"), (used_ns, used_ns + NOT_SEEN_NS), 0.02), said
    assert profiles.is_within(of_frame(found, "<native>"), (SECOND_NS, SECOND_NS), 0.1), said
    assert of_frame(found, "<threads without Python>") == 0


@pytest.mark.few
def test_a_child_that_c_code_has_forked_is_on_its_stacks(pystrobe, tmp_path, python):
    script = tmp_path / "c_fork.py"
    script.write_text(C_FORK)
    found, used_ns, said = recorded(pystrobe, tmp_path, 100, *live.command_of(python, str(script)))

    assert profiles.is_within(profiles.total(found, "cpu"), (used_ns, used_ns + NOT_SEEN_NS), 0.02), said
    assert of_frame(found, "burn") > 0.8 * SECOND_NS, said


def test_a_child_that_still_has_its_parents_memory_is_no_python(pystrobe, tmp_path):
    """After vfork, until it executes a program."""
    done = pystrobe.run("record", "-r", 100, "-o", tmp_path / "out-%p.pb.gz", "--",
                        "/usr/bin/python3", "-c", VFORK, library(tmp_path, VFORK_C))

    assert done.returncode == 0, done.stderr
    (out,) = tmp_path.glob("out-*.pb.gz")
    found = profiles.read(out)
    assert profiles.is_within(profiles.total(found, "cpu"), (SECOND_NS, SECOND_NS), 0.1), done.stderr


INI = """
[agent]
rate = 50Hz
interval = 1s
scan = 200ms
spool = off
[target it]
cmdline = %s
service = it
[exporter out]
type = store
path = %s
"""


def test_the_agent_has_all_of_a_process_and_its_children_in_profiles(agent, tmp_path):
    script = tmp_path / ("forks_%s.py" % tmp_path.name)
    script.write_text(FORKS + "sys.stdin.read()\n")
    watching = agent(INI % (script.name, tmp_path / "store"))
    watching.wait_for_line("pystrobe")
    program = subprocess.Popen(["/usr/bin/python3", str(script), "15", "0.1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    used_ns = float(program.stdout.readline()) * SECOND_NS

    def has_all():
        return profiles.total(profiles.in_store(tmp_path / "store", "it"), "cpu") >= 0.98 * used_ns

    live.wait_until(has_all, "all of it is in the store", 0.2)
    program.communicate()
    watching.stop()
    assert profiles.total(profiles.in_store(tmp_path / "store", "it"), "cpu") < 1.02 * used_ns + NOT_SEEN_NS

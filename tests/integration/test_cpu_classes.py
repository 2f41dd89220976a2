# SPDX-License-Identifier: Apache-2.0
"""All CPU time that the kernel counts of processes is in their profile: on stacks that were seen, or on a frame that says why not."""

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


def test_threads_that_come_and_go_are_on_the_stacks_of_their_kind(pystrobe, tmp_path):
    """A sample each 53 ms meets few of them, and tells of all."""
    found, used_ns, said = recorded(pystrobe, tmp_path, 19, "/usr/bin/python3", "-c", THREADS)
    long, short = of_frame(found, "long"), of_frame(found, "short")

    assert profiles.is_within(profiles.total(found, "cpu"), (used_ns, used_ns + NOT_SEEN_NS), 0.02), said
    assert long + short > 0.75 * used_ns, said
    assert long > 1.5 * short > 0  # 4, on average


def test_a_thread_without_python_has_a_frame_with_its_name(pystrobe, tmp_path):
    (tmp_path / "native.c").write_text(NATIVE_C)
    subprocess.run(["cc", "-shared", "-fPIC", "-pthread", "-o", tmp_path / "native.so", tmp_path / "native.c"], check=True)
    found, used_ns, said = recorded(pystrobe, tmp_path, 100, "/usr/bin/python3", "-c", NATIVE, str(tmp_path / "native.so"))

    assert profiles.is_within(profiles.total(found, "cpu"), (used_ns, used_ns + NOT_SEEN_NS), 0.02), said
    # What it used after the last look at it, up to a quarter of a second before, is not known to be its own.
    assert 0.6 * SECOND_NS < of_frame(found, "<threads without Python>") < 1.1 * SECOND_NS
    assert of_frame(found, "cruncher") == of_frame(found, "<threads without Python>")


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

# SPDX-License-Identifier: Apache-2.0
"""Counts the system calls that a program makes between two markers, from what strace wrote."""

import re

MARKER = "getsid"  # a call that neither side makes otherwise
CALL = re.compile(r"^(?:\d+ +)?(?:[\d.]+ +)?([a-z][a-z0-9_]*)\((.*)$")
VECTORS = re.compile(r"\], (\d+), \[.*\], (\d+), \d+\) += (-?\d+)")
READS = ("pread64", "read", "preadv")
# Nothing of this may be done to a target, ever.
FORBIDDEN = frozenset((
    "process_vm_writev", "ptrace", "kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo",
    "pidfd_send_signal", "pidfd_getfd", "process_madvise",
))


def calls_of(text):
    """[(name, the rest of its line)] of a trace."""
    return [match.groups() for match in map(CALL.match, text.splitlines()) if match]


def between_markers(calls):
    """The calls between the last two markers."""
    places = [i for i, (name, _) in enumerate(calls) if name == MARKER]
    if len(places) < 2:
        raise ValueError("the trace has no two markers")
    return calls[places[-2] + 1:places[-1]]


def result_of(rest):
    match = re.search(r"\) += (-?\d+)", rest)
    return int(match.group(1)) if match else 0


def per_sample(text, samples):
    """Calls by name, iovecs and bytes of reads, per sample."""
    names, iovecs, size = {}, 0, 0
    for name, rest in between_markers(calls_of(text)):
        names[name] = names.get(name, 0) + 1
        vectors = VECTORS.search(rest)
        if name == "process_vm_readv" and vectors:
            iovecs += int(vectors.group(2))
            size += max(0, int(vectors.group(3)))
        elif name in READS:
            iovecs += 1
            size += max(0, result_of(rest))
    return {
        "system_calls": round(sum(names.values()) / samples, 2), "iovecs": round(iovecs / samples, 2),
        "bytes": round(size / samples), "by_name": {name: round(n / samples, 2) for name, n in sorted(names.items())},
    }


def forbidden_in(text):
    """What a trace has that harms a target: forbidden calls, and its memory opened for writing."""
    bad = set()
    for name, rest in calls_of(text):
        if name in FORBIDDEN:
            bad.add(name)
        if name in ("open", "openat") and re.search(r'/?mem", O_(RDWR|WRONLY)', rest):
            bad.add("%s(mem, writable)" % name)
    return sorted(bad)

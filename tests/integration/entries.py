# SPDX-License-Identifier: Apache-2.0
"""Writes and reads the files of a spool, as exporters/batch.h and agent/delivery/spool.h document them."""

import collections
import contextlib
import glob
import os
import struct
import zlib

HEAD = "<8sIIQIIqqqQ"  # what stands before the profiles
HEAD_SIZE = struct.calcsize(HEAD)
FIXED = "<qqIII"  # what stands before a profile's strings
MAGIC = b"\x89PBATCH\n"
VERSION = 3
PER_TYPE = 1  # the form of a Pyroscope's profiles

Entry = collections.namedtuple("Entry", "number exporter service kind labels start_ns payload")


def text(value):
    raw = value.encode() + b"\0"
    return struct.pack("<I", len(raw)) + raw


def put(folder, number, service, payload, exporter="server", count=1):
    """Writes a batch for an exporter: `count` times the same profile of a service."""
    folder.mkdir(mode=0o700, exist_ok=True)
    strings = b"".join(text(one) for one in (service, "cpu", "env", "prod"))
    profile = struct.pack(FIXED, 10**18, 10**18 + 1, 1, len(payload), 0) + strings + payload
    rest = struct.pack("<QIIqqqQ", HEAD_SIZE + count * len(profile), PER_TYPE, count, 10**18, 10**18 + 1, 10**18 + 2,
                       number) + count * profile
    head = struct.pack("<8sII", MAGIC, VERSION, zlib.crc32(rest))
    (folder / ("%016x-%s.batch" % (number, exporter))).write_bytes(head + rest)


def read_text(raw, at):
    """(text, what is behind it); no text is None."""
    size, = struct.unpack_from("<I", raw, at)
    return raw[at + 4:at + 3 + size].decode() if size else None, at + 4 + size


def read_profile(raw, at, number, exporter):
    start_ns, _, label_count, size, _ = struct.unpack_from(FIXED, raw, at)
    at += struct.calcsize(FIXED)
    strings = []
    for _ in range(2 + 2 * label_count):
        string, at = read_text(raw, at)
        strings.append(string)
    labels = dict(zip(strings[2::2], strings[3::2]))
    return Entry(number, exporter, strings[0], strings[1], labels, start_ns, raw[at:at + size]), at + size


def read(path):
    """The profiles of a batch; ValueError if the file is none."""
    number, _, exporter = os.path.basename(path)[:-len(".batch")].partition("-")
    number = number.partition("+")[0]  # of a part: the number of the whole follows
    with open(path, "rb") as file:
        raw = file.read()
    if len(raw) < HEAD_SIZE or raw[:8] != MAGIC:
        raise ValueError("%s has no head" % path)
    _, version, crc, size, _, count, *_ = struct.unpack_from(HEAD, raw)
    if version != VERSION or size != len(raw) or zlib.crc32(raw[16:]) != crc:
        raise ValueError("%s is no whole batch" % path)
    found, at = [], HEAD_SIZE
    for _ in range(count):
        entry, at = read_profile(raw, at, int(number, 16), exporter)
        found.append(entry)
    if at != size:
        raise ValueError("%s has bytes behind its profiles" % path)
    return found


def read_all(folder):
    """Each profile of a spool, the oldest first; a file that goes meanwhile is left out."""
    found = []
    for path in sorted(glob.glob(os.path.join(str(folder), "*.batch"))):
        with contextlib.suppress(FileNotFoundError):
            found += read(path)
    return found

# SPDX-License-Identifier: Apache-2.0
"""Writes and reads the files of a spool, as spool.h documents them."""

import collections
import contextlib
import glob
import os
import struct
import zlib

FIXED = "<8sIIQIIqqqIHH"  # what stands before the strings
FIXED_SIZE = struct.calcsize(FIXED)
MAGIC = b"\x89PSPOOL\n"

Entry = collections.namedtuple("Entry", "order owed owers service kind labels start_ns payload")


def text(value):
    raw = value.encode() + b"\0"
    return struct.pack("<I", len(raw)) + raw


def put(folder, order, service, payload, owers=("server",)):
    """Writes an entry of service `service` that all `owers` owe."""
    folder.mkdir(mode=0o700, exist_ok=True)
    strings = b"".join(text(one) for one in (*owers, service, "cpu", "env", "prod"))
    head = struct.pack(FIXED, MAGIC, 1, FIXED_SIZE + len(strings), len(payload), zlib.crc32(payload), 0,
                       10**18, 10**18 + 1, 10**18 + 2, 1, len(owers), 1) + strings
    head = head[:28] + struct.pack("<I", zlib.crc32(head)) + head[32:]
    (folder / ("%016x-%04x.profile" % (order, (1 << len(owers)) - 1))).write_bytes(head + payload)


def read(path):
    """An entry; ValueError if the file is none."""
    order, owed = (int(part, 16) for part in os.path.basename(path).split(".")[0].split("-"))
    with open(path, "rb") as file:
        raw = file.read()
    if len(raw) < FIXED_SIZE or raw[:8] != MAGIC:
        raise ValueError("%s has no head" % path)
    (_, _, head_size, size, payload_crc, head_crc, start_ns, _, _, _, ower_count,
     label_count) = struct.unpack_from(FIXED, raw)
    head, payload = raw[:head_size], raw[head_size:]
    if len(payload) != size or zlib.crc32(payload) != payload_crc:
        raise ValueError("%s has no whole payload" % path)
    if zlib.crc32(head[:28] + bytes(4) + head[32:]) != head_crc:
        raise ValueError("%s has a wrong head" % path)
    strings, at = [], FIXED_SIZE
    while at < head_size:
        length, = struct.unpack_from("<I", head, at)
        strings.append(head[at + 4:at + 3 + length].decode())
        at += 4 + length
    owers, rest = strings[:ower_count], strings[ower_count:]
    labels = dict(zip(rest[2::2], rest[3::2]))
    if len(labels) != label_count:
        raise ValueError("%s has %d labels, not %d" % (path, len(labels), label_count))
    return Entry(order, owed, owers, rest[0], rest[1], labels, start_ns, payload)


def read_all(folder):
    """Each entry of a spool, the oldest first; one that goes meanwhile is left out."""
    found = []
    for path in sorted(glob.glob(os.path.join(str(folder), "*.profile"))):
        with contextlib.suppress(FileNotFoundError):
            found.append(read(path))
    return found

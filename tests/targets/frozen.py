# SPDX-License-Identifier: Apache-2.0
"""A program whose executable lies on a file system that stops answering: `frozen.py`.

It is a FUSE file system with one file, /bin/sleep, in a mount namespace of its own, which is run and
never answered again. Prints {"pid": ..} of what runs, or {"skip": why}; ends with its standard input.
"""

import ctypes
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time

CLONE_NEWNS, MS_NODEV, MS_REC, MS_PRIVATE, MNT_DETACH = 0x20000, 4, 0x4000, 0x40000, 2
PR_SET_PDEATHSIG = 1
# Of <linux/fuse.h>.
LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT, OPENDIR, ACCESS, INTERRUPT, BATCH_FORGET = (
    1, 2, 3, 14, 15, 17, 18, 25, 26, 27, 34, 36, 42)
ROOT, PROGRAM = 1, 2
ENOENT, ENOSYS = 2, 38

libc = ctypes.CDLL(None, use_errno=True)


def require(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def attributes(node, size):
    mode, bytes_ = (0o40755, 0) if node == ROOT else (0o100755, size)
    return struct.pack("<6Q10I", node, bytes_, bytes_ // 512 + 1, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(operation, node, body, data):
    """What a request is answered: (error, bytes); None: it wants no answer. No attribute is kept for a moment."""
    if operation == INIT:
        return 0, struct.pack("<4I2H2I2H8I", 7, 31, 1 << 17, 0, 12, 10, 1 << 17, 1, 32, 0, *[0] * 8)
    if operation == LOOKUP:
        if body.split(b"\0")[0] != b"sleep":
            return -ENOENT, b""
        return 0, struct.pack("<4Q2I", PROGRAM, 0, 0, 0, 0, 0) + attributes(PROGRAM, len(data))
    if operation == GETATTR:
        return 0, struct.pack("<Q2I", 0, 0, 0) + attributes(node, len(data))
    if operation in (OPEN, OPENDIR):
        return 0, struct.pack("<Q2I", 1, 0, 0)
    if operation == READ:
        offset, size = struct.unpack_from("<8xQI", body)
        return 0, data[offset:offset + size]
    if operation == STATFS:
        return 0, bytes(80)
    if operation in (FORGET, BATCH_FORGET, INTERRUPT):
        return None
    return (0 if operation in (RELEASE, FLUSH, ACCESS) else -ENOSYS), b""


def serve(fd, data):
    while True:
        request = os.read(fd, 1 << 18)
        _, operation, number, node = struct.unpack_from("<2I2Q", request)
        said = answer(operation, node, request[40:], data)
        if said:
            os.write(fd, struct.pack("<IiQ", 16 + len(said[1]), said[0], number) + said[1])


def mount(folder):
    """Gives the descriptor that requests come from."""
    require(libc.unshare(CLONE_NEWNS))
    require(libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None))
    fd = os.open("/dev/fuse", os.O_RDWR)
    options = "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % fd
    require(libc.mount(b"frozen", folder.encode(), b"fuse", MS_NODEV, options.encode()))
    return fd


def main():
    with open("/bin/sleep", "rb") as file:
        data = file.read()
    with tempfile.TemporaryDirectory() as folder:
        try:
            fd = mount(folder)
        except OSError as error:
            print(json.dumps({"skip": "FUSE: %s" % error}), flush=True)
            return
        server = os.fork()
        if server == 0:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            serve(fd, data)
        os.close(fd)
        program = subprocess.Popen([folder + "/sleep", "1000"])
        time.sleep(0.5)  # it has begun, and has all the pages that it needs to sleep
        os.kill(server, signal.SIGSTOP)
        print(json.dumps({"pid": program.pid}), flush=True)
        sys.stdin.read()
        os.kill(server, signal.SIGKILL)  # whoever waits for an answer has an error then
        program.kill()
        program.wait()
        require(libc.umount2(folder.encode(), MNT_DETACH))


main()

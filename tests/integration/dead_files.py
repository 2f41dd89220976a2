# SPDX-License-Identifier: Apache-2.0
"""A file system whose server never answers a read: what a stopped NFS or FUSE server leaves of a mount.

`python3 dead_files.py DIRECTORY [kill] [child]`, as root, mounts it and prints a line once it is there. Every
name in it is a regular file of 4 KiB that everyone may read. The read ends when this program ends; until then not even
SIGKILL ends it, or with `kill` nothing but SIGKILL. A file that is opened with O_DIRECT has no page cache. With `child`
this program ends with its parent. However it ends, it is unmounted.

Source: include/uapi/linux/fuse.h of the kernel.
"""

import ctypes
import os
import signal
import stat
import struct
import subprocess
import sys

LOOKUP, FORGET, GETATTR, OPEN, READ, INIT, INTERRUPT, BATCH_FORGET = 1, 2, 3, 14, 15, 26, 36, 42
ENOSYS = 38
ASYNC_READ = 1
DIRECT_IO, KEEP_CACHE = 1, 2
MNT_DETACH, PR_SET_PDEATHSIG = 2, 1
FOREVER_S = 3600
HEADER_SIZE = 40
ROOT, FILE = 1, 2  # nodes; files have that number and those above it


def attributes(node):
    mode = stat.S_IFDIR | 0o755 if node == ROOT else stat.S_IFREG | 0o644
    return struct.pack("<6Q10I", node, 0 if node == ROOT else 4096, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer_to(opcode, node, flags, new, asked):
    """The body of the answer; None: the kernel knows no such call."""
    if opcode == INIT:
        return struct.pack("<4I2H2I2H8I", 7, 31, 0, flags, 12, 9, 65536, 1, 1, 0, *[0] * 8)
    if opcode == LOOKUP:
        return struct.pack("<4Q2I", new, 1, FOREVER_S, FOREVER_S, 0, 0) + attributes(new)
    if opcode == GETATTR:
        return struct.pack("<Q2I", FOREVER_S, 0, 0) + attributes(node)
    if opcode == OPEN:
        wants_direct = struct.unpack_from("<I", asked)[0] & os.O_DIRECT
        return struct.pack("<Q2I", 1, KEEP_CACHE | (DIRECT_IO if wants_direct else 0), 0)
    return None


def serve(fd, flags):
    new = FILE
    while True:
        try:
            request = os.read(fd, 1 << 17)
        except OSError:
            return
        _, opcode, unique, node = struct.unpack_from("<2I2Q", request)
        if opcode in (READ, FORGET, BATCH_FORGET, INTERRUPT):
            continue
        body = answer_to(opcode, node, flags, new, request[HEADER_SIZE:])
        new += opcode == LOOKUP  # each name is a file of its own
        error = 0 if body is not None else -ENOSYS
        os.write(fd, struct.pack("<IiQ", 16 + len(body or b""), error, unique) + (body or b""))


def unmount_at_end(libc, fd):
    """Has another process unmount it once this one has ended, however it did."""
    ends, held = os.pipe()
    if os.fork() != 0:
        os.close(ends)
        return
    os.setsid()
    os.close(fd)
    os.close(held)
    for standard in range(3):
        os.close(standard)
    os.read(ends, 1)
    libc.umount2(os.fsencode(sys.argv[1]), MNT_DETACH)
    os._exit(0)


def main():
    fd = os.open("/dev/fuse", os.O_RDWR)
    options = "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % fd
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"dead", os.fsencode(sys.argv[1]), b"fuse", 6, options.encode()) != 0:
        sys.exit("mount: " + os.strerror(ctypes.get_errno()))
    unmount_at_end(libc, fd)
    if "child" in sys.argv[2:]:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    print("mounted", flush=True)
    serve(fd, ASYNC_READ if "kill" in sys.argv[2:] else 0)


class DeadFiles:
    """with DeadFiles(path): it is mounted there. Once it ends, all reads have failed."""

    def __init__(self, path, *words):
        self.path = path
        self.words = words

    def __enter__(self):
        self.process = subprocess.Popen([sys.executable, __file__, str(self.path), "child", *self.words], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "mounted\n":
            self.reason = self.process.communicate()[1].strip()
            return None
        return self

    def __exit__(self, *what):
        self.process.kill()
        self.process.communicate()
        subprocess.run(["umount", "-l", str(self.path)], stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()

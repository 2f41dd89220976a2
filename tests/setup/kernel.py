# SPDX-License-Identifier: Apache-2.0
"""Boots Debian's kernel in an emulator, with a few files of this machine and nothing else.

For what this machine's own kernel cannot show. The kernel is kept in the cache folder; the files
are a program with the libraries that it is linked to, and modules of this Python. There is no disk,
no network, and nothing of the guest stays. It needs no root.
"""

import glob
import json
import os
import re
import shutil
import subprocess
import sys

import roots

META = "linux-image-cloud-amd64"  # the smallest that Debian has, with all in it that is needed here
EMULATOR = "qemu-system-x86_64"
MEMORY_MB = 512
NODE, FILE, FOLDER, LINK = 0o020600, 0o100000, 0o040755, 0o120777
CONSOLE = (5, 1)


def why_not():
    """Why no kernel can be booted here; None: one can be."""
    if os.uname().machine != "x86_64":
        return "the kernel that is booted is for x86-64, and this is " + os.uname().machine
    if not shutil.which("apt-get"):
        return "the kernel comes from Debian's archive, and here is no apt-get"
    return None if shutil.which(EMULATOR) else "%s is not there: make deps DEPS=packages" % EMULATOR


def output_of(argv, **options):
    try:
        return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              check=True, **options).stdout.decode(errors="replace")
    except subprocess.CalledProcessError as error:
        raise roots.Unavailable("%s failed: %s" % (" ".join(argv[:3]), error.stdout.decode(errors="replace")[-500:]))


def fetch(folder, _log):
    """The kernel that Debian's package of that name means now."""
    depends = output_of(["apt-cache", "depends", META])
    found = re.search(r"Depends: (linux-image-\S+)", depends)
    if not found:
        raise roots.Unavailable("%s is not known here: apt-get update" % META)
    output_of(["apt-get", "-q", "-o", "Acquire::Retries=3", "-o", "APT::Sandbox::User=root", "download", found[1]],
              cwd=folder)
    package = glob.glob(os.path.join(folder, "*.deb"))[0]
    output_of(["dpkg-deb", "-x", package, os.path.join(folder, "package")])
    shutil.copy(glob.glob(os.path.join(folder, "package", "boot", "vmlinuz-*"))[0], os.path.join(folder, "vmlinuz"))
    shutil.rmtree(os.path.join(folder, "package"))
    os.unlink(package)


def image(log):
    return roots.kept("kernel-" + META, "vmlinuz", fetch, log)


def libraries(program):
    """The files that a program is linked to, by the names under which they are looked for."""
    done = subprocess.run(["ldd", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return set(re.findall(r"(/\S+) \(0x", done.stdout.decode()))


def python_modules(names):
    """The files of these modules of this Python, with all that they import."""
    script = ("import json, sys, %s\n"
              "print(json.dumps([path for module in list(sys.modules.values()) for path in\n"
              "    (getattr(module, '__file__', None), getattr(module, '__cached__', None)) if path]))" % ", ".join(names))
    found = json.loads(output_of([sys.executable, "-I", "-S", "-c", script]))
    return {path for path in found if os.path.exists(path)}


class Archive:
    """Files as the kernel unpacks them into its first root: cpio's "newc" format."""

    def __init__(self):
        self.data = bytearray()
        self.seen = set()

    def entry(self, path, mode, data=b"", device=(0, 0)):
        name = path.lstrip("/").encode() + b"\0"
        fields = [len(self.seen) + 1, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name), 0]
        self.data += b"070701" + b"".join(b"%08X" % field for field in fields)
        for part in (name, data):
            self.data += part
            self.data += b"\0" * (-len(self.data) % 4)
        self.seen.add(path)

    def folders_above(self, path):
        above = os.path.dirname(path)
        if above not in self.seen and above != "/":
            self.folders_above(above)
            self.entry(above, FOLDER)

    def add(self, path, data, mode=0o755):
        if path not in self.seen:
            self.folders_above(path)
            self.entry(path, FILE | mode, data)

    def add_link(self, path, to):
        self.folders_above(path)
        self.entry(path, LINK, to.encode())

    def add_host(self, path, inside=None):
        """A file of this machine, with the libraries that it is linked to, at the place where it is here."""
        for one in sorted(libraries(path)) if not path.endswith((".py", ".pyc")) else []:
            self.add_host(one)
        with open(path, "rb") as file:
            self.add(inside or path, file.read())

    def bytes(self):
        self.folders_above("/dev/console")
        self.entry("/dev/console", NODE, device=CONSOLE)
        self.entry("TRAILER!!!", 0)
        return bytes(self.data)


def boot(archive, folder, seconds, log):
    """Runs /init of the archive; gives what it wrote to the console, once it has ended."""
    initrd = os.path.join(folder, "initrd")
    with open(initrd, "wb") as file:
        file.write(archive.bytes())
    words = [EMULATOR, "-cpu", "max", "-smp", "2", "-m", str(MEMORY_MB), "-display", "none", "-serial", "stdio", "-monitor", "none", "-net", "none",
             "-no-reboot", "-kernel", image(log), "-initrd", initrd, "-append", "console=ttyS0 quiet panic=-1"]
    try:
        return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=seconds, check=False).stdout.decode(errors="replace")
    except subprocess.TimeoutExpired as late:
        raise AssertionError("it ran for %d s: %s" % (seconds, (late.stdout or b"").decode(errors="replace")[-3000:]))

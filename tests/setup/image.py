# SPDX-License-Identifier: Apache-2.0
"""Makes the image that a Dockerfile describes, without Docker: a folder with its files.

FROM debian:... is a copy of a cached root of that suite, RUN a shell in it, COPY a copy. Only what
packaging/docker/Dockerfile uses is understood; all else is an error.
"""

import collections
import json
import os
import re
import shlex
import subprocess

import roots

BASE = ["git", "make", "ca-certificates"]  # the cached bare root, which has a little more than Debian's image
# $1: the root, $2: the folder, $3: the command.
ENTER = r"""
set -eu
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
mount -t tmpfs tmpfs "$1/tmp"
exec chroot "$1" /usr/bin/env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" sh -c "cd $2 && $3" </dev/null
"""

Image = collections.namedtuple("Image", "root entrypoint command")


def steps(path):
    """The instructions of a Dockerfile: (word, the rest)."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", file.read(), flags=re.MULTILINE))
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


class Builder:
    def __init__(self, folder, context, log_file, log):
        self.folder, self.context, self.log_file, self.log = folder, context, log_file, log
        self.stages = {}  # name or number: root
        self.root, self.work, self.entrypoint, self.command = None, "/", [], []

    def do_from(self, rest):
        match = re.fullmatch(r"debian:(\w+)-slim(?: AS (\w+))?", rest)
        if not match:
            raise ValueError("FROM " + rest)
        base = roots.ensure(match[1], "bare", BASE, True, self.log)
        self.root = os.path.join(self.folder, match[2] or "image")
        roots.remove(self.root, self.log_file)
        roots.run(["cp", "-a", base, self.root], self.log_file)
        self.stages[match[2]], self.work = self.root, "/"

    def do_copy(self, rest):
        words = rest.split()
        if words[0].startswith("--from="):
            source = self.stages[words.pop(0).partition("=")[2]] + words[0]
            roots.run(["cp", "-a", os.path.join(source, "."), self.root + words[1]], self.log_file)
        elif words[0] == ".":
            os.makedirs(self.root + words[1])
            roots.run(["tar", "-C", self.root + words[1], "--strip-components=1", "--no-same-owner", "-xzf", self.context],
                      self.log_file)
        else:
            raise ValueError("COPY " + rest)

    def do_arg(self, rest):
        if not re.fullmatch(r"\w+", rest):  # with a value it would be more than "not told"
            raise ValueError("ARG " + rest)

    def do_label(self, rest):
        if not all("=" in word for word in shlex.split(rest)):
            raise ValueError("LABEL " + rest)

    def do_workdir(self, rest):
        self.work = rest

    def do_run(self, rest):
        self.log("RUN " + rest)
        roots.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", ENTER, "run", self.root,
                   shlex.quote(self.work), rest], self.log_file)

    def do_entrypoint(self, rest):
        self.entrypoint = json.loads(rest)

    def do_cmd(self, rest):
        self.command = json.loads(rest)


def make(dockerfile, context, folder, log):
    """Makes it below a folder, of the packed source `context`. The caller removes the folder (discard)."""
    subprocess.run(["mkdir", "-p", folder], check=True)
    with open(os.path.join(folder, "image.log"), "w", encoding="utf-8") as log_file:
        builder = Builder(folder, os.path.abspath(context), log_file, log)
        for word, rest in steps(dockerfile):
            getattr(builder, "do_" + word.lower())(rest)
        for root in builder.stages.values():
            if root != builder.root:
                roots.remove(root, log_file)
    return Image(builder.root, builder.entrypoint, builder.command)


def discard(image):
    with open(os.devnull, "w", encoding="utf-8") as log_file:
        roots.remove(image.root, log_file)

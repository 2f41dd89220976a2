# SPDX-License-Identifier: Apache-2.0
"""Finds a Go that is new enough for the servers of tests/backends.

The system's own if it is (Debian 12's is 1.19, which is not); else the release below, which the
Go project publishes as a module: any older Go can fetch it and check it against Go's checksum
database, though only Go 1.21 and later would also run it by itself.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import zipfile

import roots

RELEASE = "1.26.8"
OLDEST = (1, 26)
TIMEOUT_S = 900


def run(argv, cwd, **env):
    """Its output; raises with its last words."""
    try:
        done = subprocess.run(argv, cwd=cwd, env=dict(os.environ, GOFLAGS="", GO111MODULE="on", **env),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=TIMEOUT_S, check=True)
        return done.stdout.decode()
    except FileNotFoundError:
        raise roots.Unavailable("%s is not installed" % argv[0])
    except subprocess.TimeoutExpired:
        raise roots.Unavailable("%s took over %d s" % (" ".join(argv[:3]), TIMEOUT_S))
    except subprocess.CalledProcessError as error:
        words = error.stderr.decode(errors="replace").strip().splitlines() or ["status %d" % error.returncode]
        raise roots.Unavailable("%s failed: %s" % (" ".join(argv[:3]), words[-1]))


def version_of(go):
    """(1, 26) of "go1.26.8"."""
    match = re.match(r"go(\d+)\.(\d+)", run([go, "env", "GOVERSION"], "/", GOTOOLCHAIN="local"))
    return (int(match.group(1)), int(match.group(2))) if match else (0, 0)


def unpack(archive, prefix, folder):
    """A module's zip as a folder. Modes are lost in it, and go.mod files have another name."""
    with zipfile.ZipFile(archive) as file:
        for name in file.namelist():
            inner = name[len(prefix):]
            path = os.path.join(folder, re.sub(r"(^|/)_go\.mod$", r"\1go.mod", inner))
            if not name.startswith(prefix) or not os.path.realpath(path).startswith(os.path.realpath(folder)):
                raise roots.Unavailable("%s has a strange name in it: %r" % (archive, name))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with file.open(name) as source, open(path, "wb") as target:
                shutil.copyfileobj(source, target)
            if inner.startswith(("bin/", "pkg/tool/")):
                os.chmod(path, 0o755)


def fetch(log):
    """The `go` of RELEASE in the cache folder. The caller holds its lock."""
    arch = run(["go", "env", "GOARCH"], "/", GOTOOLCHAIN="local").strip()
    folder = os.path.join(roots.cache_folder(), "go-%s-%s" % (RELEASE, arch))
    go = os.path.join(folder, "bin", "go")
    if os.path.exists(go):
        return go
    log("fetching Go %s into %s (once)" % (RELEASE, folder))
    module = "golang.org/toolchain@v0.0.1-go%s.linux-%s" % (RELEASE, arch)
    with tempfile.TemporaryDirectory() as empty:
        said = json.loads(run(["go", "mod", "download", "-json", module], empty, GOTOOLCHAIN="local"))
    shutil.rmtree(folder + ".partial", ignore_errors=True)
    unpack(said["Zip"], module + "/", folder + ".partial")
    os.rename(folder + ".partial", folder)
    return go


def ensure(log):
    """The path of a `go` that is new enough; raises roots.Unavailable."""
    go = shutil.which("go")
    if not go:
        raise roots.Unavailable("go is not installed")
    return go if version_of(go) >= OLDEST else fetch(log)

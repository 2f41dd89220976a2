# SPDX-License-Identifier: Apache-2.0
"""Keeps what manifests are checked with in the cache folder: kustomize, and Kubernetes' schemas.

Kustomize is built from its Go module. The schemas are those that the package kubernetes-validate
brings (kubernetes.txt has its version and hash); they are read where they are, in its wheel.
"""

import glob
import json
import os
import re
import subprocess
import sys
import zipfile

import golang
import roots

KUSTOMIZE = "v5.7.1"
REQUIREMENTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kubernetes.txt")
TIMEOUT_S = 900
FOLDER_IN_WHEEL = "kubernetes_validate/kubernetes-json-schema/"


def run(argv, **options):
    try:
        subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       timeout=TIMEOUT_S, check=True, **options)
    except subprocess.CalledProcessError as error:
        raise roots.Unavailable("%s failed: %s" % (" ".join(argv[:4]), error.stdout.decode(errors="replace")[-500:]))
    except (OSError, subprocess.TimeoutExpired) as error:
        raise roots.Unavailable(str(error))


def build_kustomize(folder, log):
    module = "sigs.k8s.io/kustomize/kustomize/v5@" + KUSTOMIZE
    run([golang.ensure(log), "install", module], env=dict(os.environ, GOBIN=folder, GOFLAGS="-trimpath"))


def fetch_schemas(folder, _log):
    run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
         "--only-binary", ":all:", "--require-hashes", "--dest", folder, "-r", REQUIREMENTS])


def kept(name, pattern, make, log):
    """The file that matches in a folder of the cache; made aside, so that one that exists is whole."""
    folder = os.path.join(roots.cache_folder(), name)
    if not os.path.isdir(folder):
        os.makedirs(roots.cache_folder(), exist_ok=True)
        with roots.locked(roots.cache_folder(), log):
            if not os.path.isdir(folder):
                log("making %s (once)" % folder)
                os.makedirs(folder + ".partial", exist_ok=True)
                make(folder + ".partial", log)
                os.rename(folder + ".partial", folder)
    return glob.glob(os.path.join(folder, pattern))[0]


def kustomize(log):
    """The path of the program."""
    return kept("kustomize-%s-%s" % (KUSTOMIZE, os.uname().machine), "kustomize", build_kustomize, log)


class Schemas:
    """The schemas of several versions of Kubernetes, in which nothing may stand that they do not know."""

    def __init__(self, log):
        with open(REQUIREMENTS, encoding="utf-8") as file:
            version = re.search(r"^kubernetes-validate==(\S+)", file.read(), re.MULTILINE)[1]
        self.wheel = zipfile.ZipFile(kept("kubernetes-validate-" + version, "*.whl", fetch_schemas, log))
        found = {re.match(FOLDER_IN_WHEEL + r"v([\d.]+)-local-strict/", name) for name in self.wheel.namelist()}
        self.versions = sorted({match[1] for match in found if match}, key=lambda text: [int(n) for n in text.split(".")])

    def load(self, version, name):
        return json.loads(self.wheel.read("%sv%s-local-strict/%s.json" % (FOLDER_IN_WHEEL, version, name)))

    def mistakes(self, version, manifest):
        """What a manifest has that this version of Kubernetes would not take, in words."""
        import jsonschema

        group = re.sub(r"^([^./]*)(\.[^/]*)?/", r"\1-", manifest["apiVersion"])
        schema = self.load(version, "%s-%s" % (manifest["kind"].lower(), group))
        definitions = self.load(version, "_definitions")
        here = {scheme: lambda _url: definitions for scheme in ("", "http", "https")}  # all that is referred to
        checker = jsonschema.Draft7Validator(schema, resolver=jsonschema.RefResolver("", schema, handlers=here))
        return ["%s: %s" % (".".join(map(str, error.absolute_path)), error.message)
                for error in checker.iter_errors(manifest)]

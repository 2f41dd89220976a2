# SPDX-License-Identifier: Apache-2.0
"""Keeps what manifests are checked with in the cache folder: kustomize, and Kubernetes' schemas.

Kustomize is built from its Go module. The schemas are those that the package kubernetes-validate
brings (kubernetes.txt has its version and hash); they are read where they are, in its wheel.
"""

import json
import os
import re
import subprocess
import sys
import zipfile

import golang
import roots

KUSTOMIZE = "v5.7.1"
FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "packaging",
                      "kubernetes")
OVERLAYS = ["base", "pyroscope", "collector", "sidecar"]
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


def kustomize(log):
    """The path of the program."""
    return roots.kept("kustomize-%s-%s" % (KUSTOMIZE, os.uname().machine), "kustomize", build_kustomize, log)


def manifests(log):
    """What Kustomize makes of each folder: {name: manifests}."""
    import yaml

    program = kustomize(log)
    return {name: list(yaml.safe_load_all(subprocess.run(
        [program, "build", os.path.join(FOLDER, name)], stdout=subprocess.PIPE, check=True).stdout)) for name in OVERLAYS}


def one(found, kind):
    return next(manifest for manifest in found if manifest["kind"] == kind)


def pod_of(found):
    daemon_set = [manifest for manifest in found if manifest["kind"] == "DaemonSet"]
    return daemon_set[0]["spec"]["template"]["spec"] if daemon_set else one(found, "Pod")["spec"]


def mount_settings(found, folder):
    """Writes the files of all config maps behind links, as the kubelet puts them."""
    data = folder / "..data"
    (data / "conf.d").mkdir(parents=True)
    for manifest in found:
        for name, text in manifest["data"].items() if manifest["kind"] == "ConfigMap" else ():
            (data if name == "pystrobe.ini" else data / "conf.d").joinpath(name).write_text(text)
    (folder / "conf.d").symlink_to("..data/conf.d")
    (folder / "pystrobe.ini").symlink_to("..data/pystrobe.ini")


class Schemas:
    """The schemas of several versions of Kubernetes, in which nothing may stand that they do not know."""

    def __init__(self, log):
        with open(REQUIREMENTS, encoding="utf-8") as file:
            version = re.search(r"^kubernetes-validate==(\S+)", file.read(), re.MULTILINE)[1]
        self.wheel = zipfile.ZipFile(roots.kept("kubernetes-validate-" + version, "*.whl", fetch_schemas, log))
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

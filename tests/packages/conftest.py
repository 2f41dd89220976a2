# SPDX-License-Identifier: Apache-2.0
"""Fixtures: the packages that were built, and a machine of its own to install them on."""

import glob
import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TREE, "tests", "setup"))
import engine as engines  # noqa: E402
import kubernetes  # noqa: E402
import machine as machines  # noqa: E402
import roots  # noqa: E402

BUILD = os.path.abspath(os.environ.get("PYSTROBE_BUILD", os.path.join(TREE, "build")))


def pytest_configure(config):
    config.addinivalue_line("markers", "nightly: measures times, so that its result depends on the machine: only with "
                            "-m nightly, on a machine that does nothing else")


def pytest_collection_modifyitems(config, items):
    if "nightly" in config.getoption("markexpr"):
        return
    config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("nightly")])
    items[:] = [item for item in items if not item.get_closest_marker("nightly")]


def unavailable(why):
    """A CI has what these tests need."""
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)


def built(pattern):
    found = sorted(glob.glob(os.path.join(BUILD, pattern)))
    if not found:
        pytest.fail("%s is not there: run make packages" % os.path.join(BUILD, pattern))
    return found[-1]


@pytest.fixture(scope="session")
def deb():
    arch = subprocess.run(["dpkg", "--print-architecture"], stdout=subprocess.PIPE, check=True).stdout.decode().strip()
    return built("deb/pystrobe_*_%s.deb" % arch)


@pytest.fixture(scope="session")
def manifests():
    """What Kustomize makes of each folder of packaging/kubernetes."""
    try:
        return kubernetes.manifests(print)
    except roots.Unavailable as error:
        unavailable(str(error))


@pytest.fixture(scope="session")
def engine():
    why = machines.why_not()
    if why:
        unavailable(why)
    os.makedirs(os.path.join(BUILD, "packages"), exist_ok=True)
    try:
        one = engines.Engine(os.path.join(BUILD, "packages", "engine"), built("dist/pystrobe-*.tar.gz"), print)
    except roots.Unavailable as error:
        unavailable(str(error))
    yield one
    one.stop()


@pytest.fixture(scope="module")
def machine():
    why = machines.why_not()
    if why:
        unavailable(why)
    os.makedirs(os.path.join(BUILD, "packages"), exist_ok=True)
    try:
        one = machines.Machine(os.path.join(BUILD, "packages", "machine.log"), print)
    except roots.Unavailable as error:
        unavailable(str(error))
    yield one
    one.stop()

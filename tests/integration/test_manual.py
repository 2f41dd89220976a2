# SPDX-License-Identifier: Apache-2.0
"""The manual: it explains every key, and as HTML its links lead somewhere."""

import os
import re
import shutil
import subprocess

import pytest

import live
from profiles import BUILD


def test_explains_every_key_of_the_sample():
    sample = subprocess.run([os.path.join(BUILD, "pystrobe"), "config", "--sample"], stdout=subprocess.PIPE, check=True)
    with open(os.path.join(BUILD, "man/pystrobe.ini.5")) as file:
        page = file.read()

    keys = set(re.findall(r"^;(\w+) = ", sample.stdout.decode(), re.MULTILINE)) - {"env"}  # an example of [labels]
    assert len(keys) > 50
    for key in keys:
        assert ".It Ic %s\n" % key in page, key
    assert ".It Ic header. Ns Ar NAME\n" in page
    assert "Allowed: 0.1Hz to 1000Hz.\nDefault: 19Hz.\n" in page


@pytest.mark.skipif(not shutil.which("mandoc"), reason="needs mandoc")
def test_links_of_the_manual_as_html_lead_somewhere(tmp_path):
    pages = [os.path.join(live.TREE, "packaging/man/pystrobe.8"), os.path.join(BUILD, "man/pystrobe.ini.5")]
    folder = tmp_path / "html"

    subprocess.run(["packaging/man_html.sh", "1.2.3", folder, *pages], cwd=live.TREE, check=True)

    texts = {name: (folder / name).read_text() for name in os.listdir(folder)}
    assert sorted(texts) == ["manual.css", "pystrobe.8.html", "pystrobe.ini.5.html"]
    for name in ("pystrobe.8.html", "pystrobe.ini.5.html"):
        links = set(re.findall('href="([^"]+)"', texts[name]))
        assert {"manual.css"} | set(texts) - {name} <= links and "pystrobe 1.2.3" in texts[name]
        for link in links:
            file, _, place = link.partition("#")
            assert link.startswith("https://manpages.debian.org/") or not file or file in texts, link
            assert not place or 'id="%s"' % place in texts[file or name], link

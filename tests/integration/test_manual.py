# SPDX-License-Identifier: Apache-2.0
"""The manual as HTML: links between its pages, and within them, lead somewhere."""

import os
import re
import shutil
import subprocess

import pytest

import live
from profiles import BUILD


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

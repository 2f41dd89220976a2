# SPDX-License-Identifier: Apache-2.0
"""Loads a page in a headless Chromium, runs a script in it, and fails on any error or request."""

import json
import os
import re
import shutil
import subprocess
import tempfile

import live

# The page's own policy forbids requests and reports those that it stopped; errors go to the title.
WRAPPER = """
<script>
window.problems = [];
addEventListener("error", event => problems.push(String(event.message)));
addEventListener("securitypolicyviolation", event => problems.push("request: " + event.blockedURI));
</script>
"""
RUNNER = """
<script>
addEventListener("load", () => setTimeout(() => {
  let result = null;
  try {
    result = (() => { %s })();
  } catch (error) {
    problems.push(String(error));
  }
  const requests = performance.getEntriesByType("resource").map(entry => entry.name);
  const answer = document.createElement("pre");
  answer.id = "answer";
  answer.textContent = JSON.stringify({result, problems, requests});
  document.body.append(answer);
}, 500));
</script>
"""


def find():
    return shutil.which("chromium") or shutil.which("chromium-browser")


def run(page, script):
    """What the script returns."""
    text = page.read_text(encoding="utf-8")
    text = text.replace("<style>", WRAPPER + "<style>", 1).replace("</body>", RUNNER % script + "</body>", 1)
    copy = page.with_suffix(".driven.html")
    copy.write_text(text, encoding="utf-8")
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run([find(), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                               "--user-data-dir=" + profile, "--window-size=1280,900", "--virtual-time-budget=10000",
                               "--dump-dom", copy.as_uri()], capture_output=True, text=True, timeout=live.DEADLINE_S,
                              env=dict(os.environ, DBUS_SESSION_BUS_ADDRESS="disabled:"))
    answer = re.search(r'<pre id="answer">(.*?)</pre>', done.stdout, re.S)
    assert answer, done.stderr[-2000:]
    found = json.loads(answer.group(1).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    assert found["problems"] == [] and found["requests"] == [], found
    return found["result"]

# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium that looks at a server, driven over the pipe of its DevTools protocol."""

import base64
import fcntl
import itertools
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

import chromium
import live

# The protocol's pipe is descriptors 3 and 4 of the browser.
START = 'exec 3<&%d 4>&%d; exec "$0" "$@"'
WORDS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars", "--remote-debugging-pipe",
         "--disable-background-networking", "--disable-dev-shm-usage"]


def high_pipe():
    """Both ends behind the numbers that the browser's own are to have."""
    ends = os.pipe()
    high = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
    for end in ends:
        os.close(end)
    return high


class Browser:
    """One tab. `problems` are errors of the page, `requests` all addresses that it asked for."""

    def __init__(self, width=1280, height=900):
        self._folder = tempfile.mkdtemp()
        ours_in, theirs_out = high_pipe()
        theirs_in, ours_out = high_pipe()
        start = START % (theirs_in, theirs_out)
        self._process = subprocess.Popen(
            ["bash", "-c", start, chromium.find(), *WORDS, "--user-data-dir=" + self._folder, "about:blank"],
            pass_fds=(theirs_in, theirs_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True, env=dict(os.environ, DBUS_SESSION_BUS_ADDRESS="disabled:"))
        os.close(theirs_in)
        os.close(theirs_out)
        self._in, self._out, self._rest = ours_in, ours_out, b""
        self._numbers = itertools.count(1)
        self._session = None
        self.problems, self.requests = [], []
        try:
            self._open(width, height)
        except BaseException:
            self.close()
            raise

    def _open(self, width, height):
        pages = [one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page"]
        target = pages[0]["targetId"] if pages else self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.resize(width, height)

    def close(self):
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()
        os.close(self._in)
        os.close(self._out)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _read(self, deadline):
        """The next message."""
        while b"\0" not in self._rest:
            if not select.select([self._in], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("the browser says nothing")
            piece = os.read(self._in, 1 << 16)
            if not piece:
                raise EOFError("the browser has ended")
            self._rest += piece
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def _note(self, event):
        words = event.get("params", {})
        if event.get("method") == "Network.requestWillBeSent":
            self.requests.append(words["request"]["url"])
        elif event.get("method") == "Runtime.exceptionThrown":
            self.problems.append(words["exceptionDetails"].get("exception", words["exceptionDetails"]).get("description"))
        elif event.get("method") == "Runtime.consoleAPICalled" and words["type"] in ("error", "warning", "assert"):
            self.problems.append(str([one.get("value") for one in words["args"]]))
        elif event.get("method") == "Log.entryAdded" and words["entry"]["level"] in ("error", "warning"):
            self.problems.append(words["entry"]["text"] + " " + words["entry"].get("url", ""))

    def call(self, method, **words):
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": words}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + live.DEADLINE_S
        while True:
            answer = self._read(deadline)
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            self._note(answer)

    def run(self, script):
        """What an expression gives; of a promise what it comes to."""
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait(self, script, what):
        """Until an expression is true."""
        live.wait_until(lambda: self.run(script), what, 0.1)

    def open(self, address):
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete'", "the page is loaded")

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)

    def colours(self, scheme):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def key(self, key, text=""):
        """Presses and lets go a key."""
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", key=key, text=text,
                  windowsVirtualKeyCode={"Enter": 13, "Escape": 27, "Tab": 9, "ArrowDown": 40, "ArrowRight": 39,
                                         "Home": 36}.get(key, ord(key[0].upper())))
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def picture(self, path, whole=False):
        picture = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))

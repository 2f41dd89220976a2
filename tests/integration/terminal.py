# SPDX-License-Identifier: Apache-2.0
"""A terminal whose screen can be read and whose keys can be pressed: a tmux server of its own."""

import os
import shlex
import subprocess

import live


class Terminal:
    """A shell in a terminal of `width` times `height`."""

    def __init__(self, folder, width=80, height=24, **environment):
        self.folder = folder
        self.words = ["tmux", "-S", str(folder / "tmux"), "-f", "/dev/null", "-u"]
        self.commands = 0
        env = live.clean_environment(HOME=str(folder), **environment)
        subprocess.run(self.words + ["new-session", "-d", "-x", str(width), "-y", str(height), "exec sh -i"], env=env,
                       check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            self.resize(width, height)
            live.wait_until(lambda: self.screen()[0], "the shell has begun")
        except BaseException:
            self.close()
            raise

    def tmux(self, *words):
        return subprocess.run(self.words + list(words), check=True, stdout=subprocess.PIPE,
                              stdin=subprocess.DEVNULL).stdout.decode()

    def resize(self, width, height):
        self.tmux("resize-window", "-x", str(width), "-y", str(height))

    def screen(self, *options):
        """The rows that are shown, without the blanks at their ends."""
        return [row.rstrip() for row in self.tmux("capture-pane", "-p", *options).split("\n")[:-1]]

    def flag(self, name):
        return self.tmux("display-message", "-p", "#{%s}" % name).strip()

    def press(self, *keys):
        """Names of keys as tmux has them, or characters."""
        self.tmux("send-keys", *keys)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def start(self, words):
        """Runs a command in the shell; gives the file that will have its exit status."""
        self.commands += 1
        status = self.folder / ("status-%d" % self.commands)
        script = self.folder / ("command-%d" % self.commands)
        script.write_text("echo $$ >%s.pid\nexec %s\n" % (status, " ".join(shlex.quote(str(word)) for word in words)))
        self.type("sh %s; echo $? >%s.new; mv %s.new %s" % (script, status, status, status))
        self.press("Enter")
        return status

    def settings(self):
        """What stty says of the terminal."""
        name = self.flag("pane_tty")
        return subprocess.run(["stty", "-F", name, "-a"], stdout=subprocess.PIPE, check=True).stdout.decode()

    def wait_row(self, number, text):
        """Waits until that row has the text."""
        return self.wait(lambda rows: len(rows) > number and text in rows[number], "row %d: %s" % (number, text))

    def wait(self, condition, what):
        """Waits until the rows are so; gives them."""
        seen = []

        def is_so():
            seen[:] = self.screen()
            return condition(seen)

        try:
            live.wait_until(is_so, what, pause_s=0.05)
        except TimeoutError as error:
            raise TimeoutError("%s, on the screen:\n%s" % (error, "\n".join(seen))) from None
        return list(seen)

    def settled(self):
        """The rows once nothing is written any more: a screen is not read at one moment."""
        before = []

        def is_settled():
            last, before[:] = list(before), self.screen()
            return last == before

        live.wait_until(is_settled, "the screen stands still", pause_s=0.2)
        return before

    def close(self):
        subprocess.run(self.words + ["kill-server"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def read_status(path):
    """Waits for the exit status of a command that start() began."""
    return int(live.wait_until(lambda: os.path.exists(str(path)) and path.read_text(), "%s has ended" % path))


def pid_of(path):
    """The process that start() began."""
    file = path.with_name(path.name + ".pid")
    return int(live.wait_until(lambda: os.path.exists(str(file)) and file.read_text().strip(), "it has begun"))

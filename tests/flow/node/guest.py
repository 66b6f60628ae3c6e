"""The virtual machine of these tests: hack/vm with an instance of its own."""

import json
import os
import subprocess

from cluster import ROOT

VM = ROOT / "hack/vm"
STATES = ROOT / "build/local/vm"
ANSWER_SECONDS = 300  # more than any command of a test takes


class Guest:
    """A running guest; run() and sh() are for what must work, try_sh() for what may fail."""

    def __init__(self, name):
        self.name = name
        self.stands_still = False

    def vm(self, *words):
        run = subprocess.run([VM, *map(str, words), "--name", self.name], capture_output=True, text=True)
        assert run.returncode == 0, f"hack/vm {' '.join(map(str, words))}: {run.stderr}"
        return run.stdout.strip()

    def start(self, *options):
        """Boots it; twice if need be, because an emulated processor may lose its timer while it boots."""
        self.stands_still = False
        try:
            self.vm("start", *options)
        except AssertionError:
            self.stop()
            self.vm("start", *options)

    def stop(self):
        self.vm("stop")

    def _exec(self, words, input=None):
        """As `hack/vm exec`, whose shell takes ten times as long as the program that it starts.

        Emulated processors have been seen to stand still: from then on nothing waits for this one.
        """
        assert not self.stands_still, f"the machine {self.name} stands still"
        state = STATES / self.name
        command = [state / "client", "exec", state / "channel", os.getcwd(), *map(str, words)]
        try:
            return subprocess.run(command, input=input, capture_output=True, text=True, errors="replace",
                                  timeout=ANSWER_SECONDS)
        except subprocess.TimeoutExpired:
            self.stands_still = True
            raise AssertionError(f"the machine {self.name} does not answer: {words}") from None

    def answers(self):
        try:
            return self._exec(["true"]).returncode == 0
        except AssertionError:
            return False

    def run(self, *words, input=None):
        """What a command in the guest prints; it must succeed."""
        done = self._exec(words, input)
        assert done.returncode == 0, f"in the guest: {' '.join(map(str, words))}: {done.stdout}{done.stderr}"
        return done.stdout

    def sh(self, script, input=None):
        return self.run("sh", "-euc", script, input=input)

    def try_sh(self, script):
        """True if the script succeeds."""
        return self._exec(("sh", "-euc", script)).returncode == 0

    def try_bash(self, script):
        """The same of bash, which opens sockets by itself: an emulated processor is slow to start programs."""
        return self._exec(("bash", "-euc", script)).returncode == 0

    def write(self, path, text):
        """One write(2), as sysfs wants it."""
        self.run("sh", "-c", f"cat > '{path}'", input=text)

    def plug(self, *words):
        return self.vm("plug", *words)

    def unplug(self, device_id):
        self.vm("unplug", device_id)

    def qmp(self, command, **arguments):
        return self.vm("qmp", json.dumps({"execute": command, "arguments": arguments}))

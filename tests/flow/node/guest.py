"""The virtual machine of these tests: hack/vm with an instance of its own."""

import json
import subprocess

from cluster import ROOT

VM = ROOT / "hack/vm"
ANSWER_SECONDS = 240  # more than any command of a test takes


class Guest:
    """A running guest; run() and sh() are for what must work, try_sh() for what may fail."""

    def __init__(self, name):
        self.name = name

    def vm(self, *words):
        run = subprocess.run([VM, *map(str, words), "--name", self.name], capture_output=True, text=True)
        assert run.returncode == 0, f"hack/vm {' '.join(map(str, words))}: {run.stderr}"
        return run.stdout.strip()

    def start(self, *options):
        """Boots it; twice if need be, because an emulated processor may lose its timer while it boots."""
        try:
            self.vm("start", *options)
        except AssertionError:
            self.stop()
            self.vm("start", *options)

    def stop(self):
        self.vm("stop")

    def _exec(self, words, input=None):
        command = [VM, "exec", "--name", self.name, "--", *map(str, words)]
        return subprocess.run(command, input=input, capture_output=True, text=True, errors="replace",
                              timeout=ANSWER_SECONDS)

    def answers(self):
        """Emulated processors have been seen to stand still."""
        try:
            return subprocess.run([VM, "exec", "--name", self.name, "--", "true"], capture_output=True,
                                  timeout=30).returncode == 0
        except subprocess.TimeoutExpired:
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

    def write(self, path, text):
        """One write(2), as sysfs wants it."""
        self.run("sh", "-c", f"cat > '{path}'", input=text)

    def plug(self, *words):
        return self.vm("plug", *words)

    def unplug(self, device_id):
        self.vm("unplug", device_id)

    def qmp(self, command, **arguments):
        return self.vm("qmp", json.dumps({"execute": command, "arguments": arguments}))

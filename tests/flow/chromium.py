"""A headless Chromium that a test drives: the DevTools protocol over a pair of pipes, with nothing but Python.

https://chromedevtools.github.io/devtools-protocol: messages are JSON, each ended by a zero byte; the browser reads
them from its descriptor 3 and writes to 4.
"""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

from cluster import SLOWNESS

KEYS = {"Enter": (13, "\r"), "Escape": (27, ""), "Tab": (9, ""), "ArrowDown": (40, ""), "ArrowUp": (38, ""),
        "ArrowLeft": (37, ""), "ArrowRight": (39, ""), "Home": (36, ""), "End": (35, "")}

FLAGS = ["--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--disable-gpu", "--hide-scrollbars",
         "--no-first-run", "--disable-background-networking", "--disable-dev-shm-usage", "--force-color-profile=srgb"]


class Chromium:
    """One browser with one page; `console` has what the page complains of."""

    def __init__(self, width=1280, height=800):
        self.folder = tempfile.mkdtemp(prefix="hostdev-chromium-")
        self.size = (width, height)
        self.console = []
        self.last = 0
        self.text = b""
        self.session = None
        self._start()
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Audits"):
            self.call(f"{domain}.enable")
        self.resize(width, height)

    def _start(self):
        theirs_in, self.write_fd = os.pipe()
        self.read_fd, theirs_out = os.pipe()
        # Away from 3 and 4, which the shell makes of them.
        theirs = [fcntl.fcntl(fd, fcntl.F_DUPFD, 100) for fd in (theirs_in, theirs_out)]
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{theirs[0]} 4>&{theirs[1]}', "bash", "chromium", *FLAGS,
             f"--user-data-dir={self.folder}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=theirs)
        for fd in (theirs_in, theirs_out, *theirs):
            os.close(fd)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.read_fd)
        os.close(self.write_fd)
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- messages ---

    def _next(self, timeout):
        """The next message, None if none comes in that time."""
        end = time.monotonic() + timeout
        while b"\0" not in self.text:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.read_fd], [], [], left)[0]:
                return None
            data = os.read(self.read_fd, 1 << 20)
            assert data, "the browser has ended"
            self.text += data
        line, self.text = self.text.split(b"\0", 1)
        return json.loads(line)

    def _note(self, message):
        params = message.get("params", {})
        match message.get("method"):
            case "Runtime.exceptionThrown":
                self.console.append(params["exceptionDetails"].get("exception", {}).get("description", str(params)))
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning", "assert"):
                self.console.append(str([arg.get("value") for arg in params["args"]]))
            case "Log.entryAdded" if params["entry"]["level"] in ("error", "warning"):
                self.console.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
            case "Audits.issueAdded":
                self.console.append(json.dumps(params["issue"]))

    def call(self, method, timeout=120, **params):
        self.last += 1
        message = {"id": self.last, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_fd, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + timeout
        while answer := self._next(end - time.monotonic()):
            if answer.get("id") == self.last:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self._note(answer)
        raise AssertionError(f"no answer to {method} in {timeout} s")

    # --- what tests do ---

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def colours(self, scheme):
        """prefers-color-scheme: light or dark."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, address):
        answer = self.call("Page.navigate", url=address)
        assert "errorText" not in answer, answer

    def run(self, script):
        """The value of an expression on the page; a promise is waited for."""
        answer = self.call("Runtime.evaluate", timeout=120, expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, f"{script}: {answer['exceptionDetails']}"
        return answer["result"].get("value")

    def wait(self, script, timeout=20):
        """The first true value of an expression, and how many seconds that took."""
        timeout *= SLOWNESS
        start = time.monotonic()
        while True:
            try:
                if value := self.run(script):
                    return value, time.monotonic() - start
            except AssertionError:
                if time.monotonic() - start > timeout:
                    raise  # a page that is being loaded has no such elements yet
            assert time.monotonic() - start < timeout, f"not within {timeout} s: {script}"
            time.sleep(0.05)

    def key(self, name):
        code, text = KEYS[name] if name in KEYS else (ord(name.upper()), name)
        event = {"key": name, "windowsVirtualKeyCode": code, **({"text": text} if text else {})}
        self.call("Input.dispatchKeyEvent", type="keyDown", **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def type(self, text):
        for letter in text:
            self.key(letter)

    def picture(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as out:
            out.write(base64.b64decode(data))

    def labels(self):
        """(role, name) of all that a screen reader is told of."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes
                if not node.get("ignored") and "role" in node]

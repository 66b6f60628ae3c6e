"""`kubectl hostdev map`, run by a test."""

import http.client
import subprocess
from urllib.parse import urlsplit

from programs import clean_environment, program


class Map:
    """The program: its address, and requests to it as a browser would not send them."""

    def __init__(self, kubeconfig, *flags, env=None):
        self.process = subprocess.Popen([program("kubectl-hostdev"), "map", "--kubeconfig", kubeconfig, *flags],
                                        env=clean_environment(**(env or {})), stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        self.at = urlsplit(self.address)

    def request(self, method="GET", path=None, body=None, host=None):
        """(status, headers, text)"""
        connection = http.client.HTTPConnection(self.at.hostname, self.at.port, timeout=60)
        headers = {"Host": host} if host else {}
        try:
            connection.request(method, self.at.path if path is None else path, body, headers)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read().decode()
        finally:
            connection.close()

    def listen(self):
        """A stream of changes, as a connection and its answer."""
        connection = http.client.HTTPConnection(self.at.hostname, self.at.port, timeout=60)
        connection.request("GET", self.at.path + "changes")
        return connection, connection.getresponse()

    def stop(self):
        """What it has said on standard error."""
        if self.process.poll() is None:
            self.process.terminate()
        _, errors = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, errors
        return errors

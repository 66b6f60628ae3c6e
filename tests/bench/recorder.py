#!/usr/bin/python3
"""Prints when the kernel's uevents and a watch's events come, by one clock.

usage: recorder.py KUBECONFIG PATH

KUBECONFIG has a token; PATH is what to watch, below the server's address. One JSON object a line:
{"at": SECONDS, "uevent": "ACTION@PATH"} or {"at": SECONDS, "event": {...}}; the first is {"at":
SECONDS, "ready": true}, when the watch is open.
"""

import base64
import json
import selectors
import socket
import ssl
import sys
import time
from urllib.parse import urlsplit

import yaml

NETLINK_KOBJECT_UEVENT = 15


def tell(**what):
    print(json.dumps({"at": time.time(), **what}), flush=True)


class Uevents:
    def __init__(self):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_KOBJECT_UEVENT)
        self.socket.bind((0, 1))

    def read(self):
        tell(uevent=self.socket.recv(8192).split(b"\0", 1)[0].decode())


class Watch:
    """An answer with one event in each line; HTTP/1.0, so that it comes in no chunks."""

    def __init__(self, kubeconfig, path):
        with open(kubeconfig) as file:
            config = yaml.safe_load(file)
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        server = urlsplit(cluster["server"])
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        plain = socket.create_connection((server.hostname, server.port))
        self.socket = ssl.create_default_context(cadata=authority).wrap_socket(plain, server_hostname=server.hostname)
        self.socket.sendall(f"GET {path} HTTP/1.0\r\nHost: {server.netloc}\r\n"
                            f"Authorization: Bearer {user['token']}\r\n\r\n".encode())
        self.data = b""

    def read(self):
        chunk = self.socket.recv(65536)
        while self.socket.pending():
            chunk += self.socket.recv(65536)
        if not chunk:
            sys.exit("the watch has ended")
        *lines, self.data = (self.data + chunk).split(b"\n")
        for line in lines:
            if line.startswith(b"HTTP/1.") and b" 200 " not in line:
                sys.exit(f"the watch is refused: {line.decode().strip()}")
            if line.startswith(b'{"type"'):
                tell(event=json.loads(line))


def main():
    sources = Uevents(), Watch(sys.argv[1], sys.argv[2])
    waiting = selectors.DefaultSelector()
    for source in sources:
        waiting.register(source.socket, selectors.EVENT_READ, source)
    tell(ready=True)
    while True:
        for key, _ in waiting.select():
            key.data.read()


if __name__ == "__main__":
    main()

"""A kubelet's folder with nobody behind it: what an agent offers there, asked by our own gRPC client."""

import contextlib
import os
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

from cluster import ROOT

PROBE = ROOT / os.environ.get("HOSTDEV_TEST_BUILD", "build/dev") / "bin/grpc-probe"
TIMEOUT_MS = 60000
STREAM_MS = 600000
SHOWN = 1 << 20  # bytes of a message


def fields(data):
    """[(number, value)] of a protobuf message; bytes or an int each."""
    found, at = [], 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            found.append((key >> 3, varint()))
        else:
            assert key & 7 == 2, "no such field in what we read"
            length = varint()
            found.append((key >> 3, data[at : at + length]))
            at += length
    return found


def field(number, data):
    length, size = b"", len(data)
    while size > 127:
        length += bytes([size & 127 | 128])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + data


def texts(data):
    """The same of a message with one text for each number."""
    return {number: value.decode() if isinstance(value, bytes) else value for number, value in fields(data)}


def command(path, request=b"", stream=False, timeout_ms=TIMEOUT_MS):
    return f"show {SHOWN}\ncall {path} {timeout_ms} {'stream' if stream else 'unary'} {request.hex() or '-'}\n"


def answered(line):
    """The message in grpc-probe's line, or what the error says."""
    words = line.split(" ", 3)
    if words[1] == "message":
        return bytes.fromhex(words[3].strip())
    raise AssertionError(" ".join(words).strip())


def call(socket, path, request=b"", stream=False):
    """The first message of the answer."""
    with subprocess.Popen([PROBE, "call", socket], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as probe:
        assert probe.stdout.readline() == "ready\n"
        probe.stdin.write(command(path, request, stream))
        probe.stdin.flush()
        line = probe.stdout.readline()
        probe.stdin.close()
    return answered(line)


class FakeKubelet:
    """The folder, with a short path since sockets are in it."""

    call = staticmethod(call)

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="k-", dir="/tmp"))
        for name in ("device-plugins", "plugins_registry", "pod-resources"):
            (self.folder / name).mkdir()
        self.flags = ["--kubelet-dir", self.folder, "--registration", "registry"]

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)  # an agent may put a socket there yet

    def registered(self):
        return (self.folder / "plugins_registry").glob("*.sock")

    def endpoints(self):
        """The socket of each resource that is offered."""
        found = {}
        for socket in self.registered():
            try:
                info = texts(self.call(socket, "/pluginregistration.Registration/GetInfo"))
            except AssertionError:  # withdrawn meanwhile
                continue
            found[info[2]] = info[3]
        return found

    def devices(self, resource):
        """{ID: healthy}; None: the resource is not offered."""
        endpoint = self.endpoints().get(resource)
        if endpoint is None:
            return None
        return listed(self.call(endpoint, "/v1beta1.DevicePlugin/ListAndWatch", stream=True))

    @contextlib.contextmanager
    def messages(self, resource):
        """All messages on a stream of the resource, as devices() has them: a list that grows."""
        got = []

        def read(lines):
            for line in lines:
                if line.split(" ", 2)[1] == "message":
                    got.append(listed(answered(line)))

        with subprocess.Popen([PROBE, "call", self.endpoints()[resource]], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as probe:
            assert probe.stdout.readline() == "ready\n"
            reader = threading.Thread(target=read, args=[probe.stdout])
            reader.start()
            probe.stdin.write(command("/v1beta1.DevicePlugin/ListAndWatch", stream=True, timeout_ms=STREAM_MS))
            probe.stdin.flush()
            try:
                yield got
            finally:
                probe.stdin.close()
                reader.join()

    def prefer(self, resource, size, available, musts=()):
        """The IDs that GetPreferredAllocation answers for one container."""
        wish = b"".join(field(1, i.encode()) for i in available) + b"".join(field(2, i.encode()) for i in musts)
        endpoint = self.endpoints()[resource]
        answer = self.call(endpoint, "/v1beta1.DevicePlugin/GetPreferredAllocation",
                           field(1, wish + bytes([3 << 3, size])))
        return [i.decode() for _, one in fields(answer) for _, i in fields(one)]

    @contextlib.contextmanager
    def podresources(self):
        """Serves the kubelet's podresources meanwhile: a function that takes the pods that it lists from then on, each
        (namespace, name, container, claim, driver, pool, device)."""
        with subprocess.Popen([PROBE, "serve", self.folder / "pod-resources/kubelet.sock"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as probe:
            assert probe.stdout.readline() == "ready\n"

            def listed_pods(*pods):
                probe.stdin.write(f"pods {b''.join(field(1, pod_with_claim(*pod)) for pod in pods).hex() or '-'}\nsync\n")
                probe.stdin.flush()
                assert probe.stdout.readline() == "in sync\n"

            yield listed_pods
            probe.stdin.close()

    @contextlib.contextmanager
    def listing(self, resource):
        """The kubelet's stream of the resource, open meanwhile."""
        with subprocess.Popen([PROBE, "call", self.endpoints()[resource]], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as probe:
            assert probe.stdout.readline() == "ready\n"
            probe.stdin.write(command("/v1beta1.DevicePlugin/ListAndWatch", stream=True, timeout_ms=STREAM_MS))
            probe.stdin.flush()
            answered(probe.stdout.readline())
            yield
            probe.stdin.close()

    def allocate(self, resource, *containers):
        """What each container gets: {"envs", "mounts", "devices"}; containers are lists of IDs."""
        request = b"".join(field(1, b"".join(field(1, i.encode()) for i in ids)) for ids in containers)
        endpoint = self.endpoints()[resource]
        answer = self.call(endpoint, "/v1beta1.DevicePlugin/Allocate", request)
        return [container(value) for _, value in fields(answer)]


class GuestKubelet(FakeKubelet):
    """The same in a virtual machine."""

    def __init__(self, guest, folder="/run/kubelet"):
        self.guest = guest
        self.folder = Path(folder)
        self.flags = ["--kubelet-dir", folder, "--registration", "registry"]
        guest.sh(f"mkdir -p {folder}/device-plugins {folder}/plugins_registry {folder}/pod-resources")

    def registered(self):
        return self.guest.sh(f"ls -d {self.folder}/plugins_registry/*.sock 2>/dev/null || true").split()

    def call(self, socket, path, request=b"", stream=False):
        # grpc-probe ends with its input, which therefore lasts until the answer is there.
        said = self.guest.sh(f"(cat; sleep 2) | {PROBE} call {socket}", input=command(path, request, stream))
        return answered(said.splitlines()[1])


def pod_with_claim(namespace, name, container_name, claim, driver, pool, device):
    """A PodResources of podresources.proto."""
    claimed = field(2, driver.encode()) + field(3, pool.encode()) + field(4, device.encode())
    dynamic = field(2, claim.encode()) + field(3, namespace.encode()) + field(4, claimed)
    return (field(1, name.encode()) + field(2, namespace.encode())
            + field(3, field(1, container_name.encode()) + field(5, dynamic)))


def listed(message):
    """{ID: healthy} of a ListAndWatchResponse."""
    devices = [texts_of_device(value) for _, value in fields(message)]
    return {device[1]: device[2] == "Healthy" for device in devices}


def texts_of_device(data):
    return {number: value.decode() for number, value in fields(data) if number in (1, 2)}


def container(data):
    got = {"envs": {}, "mounts": [], "devices": []}
    for number, value in fields(data):
        one = texts(value)
        if number == 1:
            got["envs"][one[1]] = one.get(2, "")
        elif number == 2:
            got["mounts"].append((one[1], one[2], bool(one.get(3, 0))))
        elif number == 3:
            got["devices"].append((one[1], one[2], one[3]))
        elif number == 4:
            got.setdefault("annotations", {})[one[1]] = one.get(2, "")
        elif number == 5:
            got.setdefault("cdi", []).append(one[1])
    return got

"""What the tests of one file have left on the API server that the next file's tests find."""

import time

GROUPS = ("devices.harvesterhci.io/v1beta1", "hostdev.io/v1alpha1")
GONE_WITHIN = 60  # s: controllers and agents that have been stopped may have had a request on its way
POOLS = "/devicepools/"  # a controller makes them of devices, and has ended by now


def left(rest):
    """Paths of all objects of our kinds."""
    found = []
    for group in GROUPS:
        status, kinds = rest.request("GET", f"/apis/{group}")
        for kind in kinds["resources"] if status == 200 else ():
            if "/" in kind["name"]:
                continue
            status, answer = rest.request("GET", f"/apis/{group}/{kind['name']}")
            for item in answer["items"] if status == 200 else ():
                meta = item["metadata"]
                place = f"/namespaces/{meta['namespace']}" if "namespace" in meta else ""
                found.append(f"/apis/{group}{place}/{kind['name']}/{meta['name']}")
    return found


def remove_left(rest):
    """Paths of what a test has left there, after a while; all is removed then, whatever holds it."""
    since = time.monotonic()
    while (found := [path for path in left(rest) if POOLS not in path]) and time.monotonic() - since < GONE_WITHIN:
        time.sleep(0.5)
    for path in left(rest):
        rest.remove(path)
    return found

"""How fluid the page of `kubectl hostdev map` is with 2,000 devices: a real API server, a real headless Chromium.

Its frames are drawn by the CPU, without a screen; what is counted is the time between two frames while something goes
on, and what of that the page's own script took (long tasks).
"""

import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from agent_cost import program, smaps
from chromium import Chromium
from cluster import ROOT, Cluster
from map_scene import Scene
from report import figure, heading, quantile
from rest import Rest

NODES, PER_NODE = 20, 100
CHANGES_S = 6

# Frames from now on: times between them, and the tasks that took longer than 50 ms.
RECORD = """(() => { window.frames_ = []; window.tasks_ = []; let last = performance.now(); window.recording = true;
  new PerformanceObserver((list) => tasks_.push(...list.getEntries().map((e) => e.duration))).observe({ type: "longtask" });
  const tick = (now) => { frames_.push(now - last); last = now; if (recording) requestAnimationFrame(tick); };
  requestAnimationFrame(tick); })()"""
STOP = "(() => { recording = false; return [frames_.slice(1), tasks_]; })()"


def told(what, frames, tasks):
    figure(f"{what}: frames, median", f"{quantile(frames, 0.5):.1f} ms", "16.7 ms is every frame of a screen")
    figure(f"{what}: frames, 99 of 100 within", f"{quantile(frames, 0.99):.1f} ms", "below 50 ms")
    figure(f"{what}: longest frame", f"{max(frames):.1f} ms", "below 100 ms")
    figure(f"{what}: tasks over 50 ms", f"{len(tasks)}", "0")


def record(browser, what, act):
    browser.run(RECORD)
    act()
    told(what, *browser.run(STOP))


def change_all(scene, paths, seconds):
    """One device after the other, as fast as the API server takes them; how many."""
    end, done = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        scene.status(paths[done % len(paths)], {"kernelDriverInUse": f"driver{done}"})
        done += 1
    return done


def open_page(browser, address, devices):
    start = time.monotonic()
    browser.open(address)
    browser.wait(f"cards.size >= {devices} && queue.length === 0", 120)
    figure("from opening the page to all devices drawn", f"{time.monotonic() - start:.2f} s", "below 2 s")


def scroll(browser):
    browser.run("""new Promise((done) => { let at = 0; const step = () => { scrollBy(0, 120); at += 120;
        if (at < 24000) requestAnimationFrame(step); else done(); }; step(); })""")


def type_filter(browser):
    for text in ("mlx", "group 1", "big-07", ""):
        browser.run(f"(() => {{ document.getElementById('filter').value = '{text}'; filter(); }})()")
        browser.wait("dirty.filter === null", 30)
        time.sleep(0.3)


def watch_changes(browser, scene, made):
    count = []
    other = threading.Thread(target=lambda: count.append(change_all(scene, made, CHANGES_S)))
    other.start()
    other.join()
    browser.wait("queue.length === 0", 30)
    figure("changes made meanwhile", f"{count[0] / CHANGES_S:.0f} /s")


def measure(cluster):
    scene = Scene(Rest(cluster.kubeconfig))
    made = [path for path in scene.many(NODES, PER_NODE) if "/pcidevices/" in path]
    served = subprocess.Popen([program("release", "kubectl-hostdev"), "map", "--kubeconfig", cluster.kubeconfig],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    address = served.stdout.readline().strip()
    browser = Chromium()
    try:
        time.sleep(2)  # it has listed
        open_page(browser, address, NODES * PER_NODE)
        open_page(browser, address, NODES * PER_NODE)
        record(browser, "at rest", lambda: time.sleep(2))
        record(browser, "scrolling", lambda: scroll(browser))
        record(browser, "filtering", lambda: type_filter(browser))
        record(browser, "changes", lambda: watch_changes(browser, scene, made))
        record(browser, "being told all anew", lambda: (browser.run("connect()"), time.sleep(3)))
        figure("memory of the program (Pss)", f"{smaps(served.pid)['Pss']:.1f} MiB")
        figure("complaints on the console", str(len(browser.console)), "0")
    finally:
        browser.close()
        served.terminate()
        served.wait()


def run():
    heading(f"kubectl hostdev map: {NODES} nodes, {NODES * PER_NODE} devices")
    folder = Path(tempfile.mkdtemp(prefix="hostdev-map-"))
    try:
        cluster = Cluster.start(folder)
        cluster.kubectl("apply", "-f", ROOT / "crds")
        cluster.kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", ROOT / "crds")
        measure(cluster)
    finally:
        Cluster.stop(folder)
        shutil.rmtree(folder)

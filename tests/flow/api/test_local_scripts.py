"""What scripts of the local cluster say: of QEMU's answers, and while they wait."""

import os
import subprocess

import pytest
import yaml

from cluster import ROOT


def shell(script, **env):
    return subprocess.run(["bash", "-euc", f"source {ROOT}/hack/lib.sh; {script}"], env=os.environ | env,
                          capture_output=True, text=True, timeout=60)


def qemus(sentence):
    return f'{{"error": {{"class": "GenericError", "desc": "{sentence}"}}}}'


ANSWERS = [  # what QEMU says, and what somebody reads who has plugged or unplugged a device
    (qemus("Duplicate device ID 'plugged-nic'"),
     "Duplicate device ID 'plugged-nic': it is plugged already; unplug it first, or choose another --id"),
    (qemus("PCI: slot 0 function 0 not available for e1000e, in use by e1000e,id=a"),
     "PCI: slot 0 function 0 not available for e1000e, in use by e1000e,id=a: choose another --bus"),
    (qemus("Device 'plugged-nic' not found"), "Device 'plugged-nic' not found: it is not plugged"),
    (qemus("Bus 'spare9' not found"), "Bus 'spare9' not found"),
    ("", "no answer"),
    ("what is no JSON", "what is no JSON"),
]


@pytest.mark.parametrize("answer, words", ANSWERS, ids=[words for _, words in ANSWERS])
def test_a_refusal_of_qemu_is_said_in_words(answer, words):
    ended = shell('source "$PLUG"; monitor() { printf "%s\\n" "$ANSWER"; return 1; }; NAME=vm1; quietly "{}"',
                  PLUG=str(ROOT / "hack/vm.d/plug.sh"), ANSWER=answer)
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", f"error: the machine vm1 refuses: {words}\n")


STARTS = """
source "$INSTANCE"
install_host_packages() { :; }; make_tools() { :; }; make_kernel() { :; }; set_clock() { :; }
prepare_state() { mkdir -p "$STATE/logs"; : >"$STATE/logs/qemu.log"; }
launch() { echo booted; printf '%s\\r\\n' "$CONSOLE" >"$STATE/console.log"; BOOTS=$((${BOOTS:-0} + 1)); }
await_agent() { ((BOOTS == GOOD)); }
report_failed_start() { die "the machine $NAME did not come up"; }
NAME=vm1; start_instance debian
"""
PANIC = "[    0.5] Kernel panic - not syncing: timer doesn't work through Interrupt-remapped IO-APIC"


@pytest.mark.parametrize("console, good, boots, words", [
    ("all is well", 1, 1, ""),
    (PANIC, 2, 2, "warning: the guest's kernel panicked (Kernel panic - not syncing: timer doesn't work through "
                  "Interrupt-remapped IO-APIC); booting vm1 once more\n"),
    (PANIC, 3, 2, "; booting vm1 once more\nerror: the machine vm1 did not come up\n"),
    ("no init found", 2, 1, "error: the machine vm1 did not come up\n"),
])
def test_a_kernel_that_panicked_is_booted_once_more(tmp_path, console, good, boots, words):
    ended = shell(STARTS, INSTANCE=str(ROOT / "hack/vm.d/instance.sh"), STATE=str(tmp_path), CONSOLE=console, GOOD=str(good))
    assert ended.stdout == "booted\n" * boots and ended.returncode == (good > boots), ended
    assert words in ended.stderr and "\r" not in ended.stderr and bool(words) == bool(ended.stderr), ended


KUBECTL = """#!/bin/bash
# rollout status is in time at the Nth call; get pods
[[ $* == *" rollout "* ]] || { echo the pods; exit; }
echo "$*" >>"$CALLS"
[[ $(wc -l <"$CALLS") -lt $READY ]] || exit 0
echo 'Waiting for daemon set "hostdev-agent" rollout to finish: 0 of 1 updated pods are available...'
echo "$ERROR" >&2
exit 1
"""


def rolled_out(tmp_path, ready, error):
    (tmp_path / "logs").mkdir()
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(KUBECTL)
    kubectl.chmod(0o755)
    return shell('LOCAL=$FOLDER; source "$PODS"; rolled_out daemonset hostdev-agent', PATH=f"{tmp_path}:/usr/bin:/bin",
                 PODS=str(ROOT / "hack/cluster.d/pods.sh"), FOLDER=str(tmp_path), CALLS=str(tmp_path / "calls"),
                 READY=str(ready), ERROR=error)


LATE = "error: timed out waiting for the condition"


def test_a_long_wait_for_pods_says_what_for(tmp_path):
    ended = rolled_out(tmp_path, 3, LATE)
    assert ended.returncode == 0 and ended.stdout == "", ended
    assert [line.split("] ")[1] for line in ended.stderr.splitlines()] == [
        'Waiting for daemon set "hostdev-agent" rollout to finish: 0 of 1 updated pods are available...'] * 2
    assert all("--timeout=30s" in line for line in (tmp_path / "calls").read_text().splitlines())


def test_it_has_an_end(tmp_path):
    ended = rolled_out(tmp_path, 99, LATE)
    assert ended.returncode == 1 and len((tmp_path / "calls").read_text().splitlines()) == 20
    assert "error: the pods of hostdev-agent are not ready after 600 s" in ended.stderr and "the pods\n" in ended.stderr


def test_what_is_refused_is_not_waited_for(tmp_path):
    ended = rolled_out(tmp_path, 99, 'error: deployment "x" exceeded its progress deadline')
    assert ended.returncode == 1 and len((tmp_path / "calls").read_text().splitlines()) == 1


def test_these_are_the_words_of_kubectl(installed):
    """No controller is there, so that the Deployment is never rolled out."""
    installed.kubectl("create", "deployment", "late", "--image=none")
    try:
        ended = installed.kubectl("rollout", "status", "--timeout=1s", "deployment/late", check=False)
        assert ended.returncode == 1 and ended.stderr == f"{LATE}\n" and ended.stdout.startswith("Waiting for "), ended
    finally:
        installed.kubectl("delete", "deployment", "late")


def test_pods_that_end_are_waited_for(tmp_path):
    """Those of an earlier version, so that `kubectl logs deployment/...` finds the new ones; not without end."""
    script = """
        LOCAL=$FOLDER; source "$PODS"
        rolled_out() { :; }; webhook_answers() { :; }; warn() { echo "$1"; }
        kubectl() { printf 'x\n' >>"$LOCAL/calls"; (($(wc -l <"$LOCAL/calls") > $ENDING)) || echo hostdev-controller-old; }
        eval "$(declare -f wait_until | sed '1s/wait_until/waits/')"
        wait_until() { shift; waits 3 "$@"; }
        wait_for_pods
    """
    for ending, words in (2, ""), (999, "pods of hostdev are still ending; see: kubectl -n hostdev-system get pods\n"):
        (tmp_path / "calls").write_text("")
        ended = shell(script, PODS=str(ROOT / "hack/cluster.d/pods.sh"), FOLDER=str(tmp_path), ENDING=str(ending))
        assert ended.returncode == 0 and ended.stdout == words, ended
        assert ending == 999 or len((tmp_path / "calls").read_text().splitlines()) == 3


def test_the_selection_of_pods_that_end_is_understood(installed):
    """By the real kubectl: there is no pod that ends."""
    ended = shell('LOCAL=/nowhere; source "$PODS"; no_pod_ends', PODS=str(ROOT / "hack/cluster.d/pods.sh"),
                  KUBECONFIG=str(installed.kubeconfig))
    assert ended.returncode == 0, ended


def test_the_overlay_of_hack_up_has_the_webhook_answer_its_api_server_only(installed, tmp_path):
    folder = tmp_path / "pki/webhooks"
    folder.mkdir(parents=True)
    (folder / "ca.crt").write_text("the CA")
    ended = shell('LOCAL=$FOLDER; source "$PODS"; write_overlay', PODS=str(ROOT / "hack/cluster.d/pods.sh"), FOLDER=str(tmp_path))
    assert ended.returncode == 0, ended
    made = {(o["kind"], o["metadata"]["name"].removesuffix("-" + o["metadata"]["name"].split("-")[-1]) if o["kind"] == "ConfigMap"
             else o["metadata"]["name"]): o for o in yaml.safe_load_all(
                 installed.kubectl("kustomize", tmp_path / "manifests").stdout)}
    config, pod = made["ConfigMap", "hostdev-webhook-clients"], made["Deployment", "hostdev-controller"]["spec"]["template"]["spec"]
    assert config["data"] == {"ca.crt": "the CA"} and config["metadata"]["namespace"] == "hostdev-system"
    [container], [volume] = pod["containers"], pod["volumes"]
    assert volume["configMap"] == {"name": config["metadata"]["name"]}
    [mount] = container["volumeMounts"]
    assert mount["name"] == volume["name"] and f"--webhook-client-ca={mount['mountPath']}/ca.crt" in container["args"]
    # And the map, whose address hack/up prints.
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert f"--map-listen=:{ports[made['Service', 'hostdev-map']['spec']['ports'][0]['targetPort']]}" in container["args"]
    assert "/api/v1/namespaces/hostdev-system/services/hostdev-map/proxy/" in (ROOT / "hack/up").read_text()


def test_the_overlay_of_hack_up_with_gpus_has_an_agent_that_offers_them(installed, tmp_path):
    (tmp_path / "pki/webhooks").mkdir(parents=True)
    (tmp_path / "pki/webhooks/ca.crt").write_text("the CA")
    ended = shell('LOCAL=$FOLDER; source "$PODS"; write_overlay', PODS=str(ROOT / "hack/cluster.d/pods.sh"),
                  FOLDER=str(tmp_path), GPUS="2")
    assert ended.returncode == 0, ended
    agent = next(o for o in yaml.safe_load_all(installed.kubectl("kustomize", tmp_path / "manifests").stdout)
                 if o["kind"] == "DaemonSet")["spec"]["template"]["spec"]
    [container] = agent["containers"]
    assert {"--nvidia", "--nvidia-driver-root=/host", "--nvidia-config-file=/host/run/hostdev-gpus/config.yaml"} <= set(
        container["args"])
    assert {"name": "HOSTDEV_FAKE_NVML", "value": "/host/run/hostdev-gpus"} in container["env"]
    assert {"name": "root", "mountPath": "/host", "mountPropagation": "HostToContainer"} in container["volumeMounts"]

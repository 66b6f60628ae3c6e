"""Where alerts begin and end: values just over and just below what a rule compares with, each label's other values, the
minute before `for` is over, and what a window still sees. promtool runs them; test_alerts.py sees that they notice every
change of a rule.
"""

import re

WHO = {"agent": 'job="hostdev-agent", node="n1", instance="a1"',
       "controller": 'job="hostdev-controller", node="n2", instance="c1"'}
REQUESTS = "hostdev_api_requests_total"
TROUBLES = "hostdev_watch_troubles_total"
QUEUE = {"retries": 'controller:hostdev_queue_retries_total{queue="q"}',
         "done": 'controller:hostdev_reconciles_total{queue="q", result="done"}',
         "retry": 'controller:hostdev_reconciles_total{queue="q", result="retry"}'}


def reviews(half, one, more):
    """The histogram of a webhook that gets so many reviews a minute that take up to ½, 1 and 2½ seconds."""
    return {f'controller:hostdev_webhook_seconds_bucket{{path="validate", le="{le}"}}': f"0+{60 * number}x60"
            for le, number in (("0.5", half), ("1", one), ("2.5", more), ("+Inf", more))}


def slow_reviews(values):
    """The same of one whose reviews all take between 1 and 2½ seconds."""
    return {f'controller:hostdev_webhook_seconds_bucket{{path="validate", le="{le}"}}': text
            for le, text in (("0.5", "0x90"), ("1", "0x90"), ("2.5", values), ("+Inf", values))}


def steps(size, minutes, number=5):
    """A counter that grows by @size every so many minutes, so that each window of that length has one step."""
    return " ".join(f"{size * n}x{minutes - 1}" for n in range(number))


# (alert, {series: its values, one a minute}, {minute: how many fire})
EDGES = [
    ("HostdevAgentDown", {"agent:up": "0x30"}, {4: 0, 5: 1}),
    ("HostdevAgentDown", {"agent:up": "1x30", "controller:up": "0x30", ':up{job="other"}': "0x30"}, {30: 0}),
    ("HostdevAgentsAbsent", {"controller:up": "1x30"}, {9: 0, 10: 1}),
    ("HostdevAgentsAbsent", {"agent:up": "0x30"}, {30: 0}),

    ("HostdevScanFailing", {'agent:hostdev_scans_total{result="failed"}': "0x20 1x40",
                            'agent:hostdev_scans_total{result="ok"}': "7x60"}, {20: 0, 25: 0, 26: 1, 35: 1, 36: 0}),
    ("HostdevScanFailing", {'agent:hostdev_scans_total{result="failed"}': "0+1x60",
                            'agent:hostdev_scans_total{result="ok"}': "0x20 1x40"}, {20: 1, 33: 0, 40: 0, 41: 1}),
    ("HostdevScanFailing", {'agent:hostdev_scans_total{result="failed"}': "3x60",
                            'agent:hostdev_scans_total{result="ok"}': "7x60"}, {60: 0}),

    ("HostdevUeventsNotHeard", {"agent:hostdev_uevents_heard": "0x40"}, {14: 0, 15: 1}),
    ("HostdevUeventsNotHeard", {"agent:hostdev_uevents_heard": "1x40"}, {40: 0}),
    ("HostdevGPUUnhealthy", {"agent:hostdev_gpu_healthy": "0x40"}, {9: 0, 10: 1}),
    ("HostdevGPUUnhealthy", {"agent:hostdev_gpu_healthy": "1x40"}, {40: 0}),
    ("HostdevAgentStandsBy", {"agent:hostdev_agent_standing_by": "1x40"}, {14: 0, 15: 1}),
    ("HostdevAgentStandsBy", {"agent:hostdev_agent_standing_by": "0x40"}, {40: 0}),
    ("HostdevTransitionStuck", {"agent:hostdev_transitions_stuck": "1x30"}, {4: 0, 5: 1}),
    ("HostdevTransitionStuck", {"agent:hostdev_transitions_stuck": "0x30"}, {30: 0}),
    ("HostdevHelperStuck", {'agent:hostdev_helpers_stuck{verb="vfs"}': "1x30"}, {4: 0, 5: 1}),
    ("HostdevHelperStuck", {'agent:hostdev_helpers_stuck{verb="vfs"}': "0x30"} | {
        f'agent:hostdev_helpers_stuck{{verb="{verb}"}}': "1x30"
        for verb in ("bind", "release", "plan-bind", "plan-release")}, {30: 0}),

    ("HostdevClaimFailed", {'agent:hostdev_claims{kind="K", state="failed", reason="R"}': "1x40"}, {14: 0, 15: 1}),
    ("HostdevClaimFailed", {'agent:hostdev_claims{kind="K", state="failed", reason="R"}': "0x40"} | {
        f'agent:hostdev_claims{{kind="K", state="{state}", reason="{state}"}}': "2x40"
        for state in ("ready", "waiting", "refused", "held", "stuck")}, {40: 0}),

    *(("HostdevResourceNotRegistered", {
        'agent:hostdev_kubelet_registered{resource="r"}': f"{registered}x30",
        'agent:hostdev_plugin_devices{resource="r", health="healthy"}': f"{devices}x30"}, fires)
      for registered, devices, fires in ((0, 1, {4: 0, 5: 1}), (1, 1, {30: 0}), (0, 0, {30: 0}))),
    ("HostdevAllocationsRefused",
     {'agent:hostdev_plugin_allocations_total{resource="r", result="refused"}': "0x20 4x40"}, {20: 0, 21: 1, 35: 1, 36: 0}),
    ("HostdevAllocationsRefused",
     {'agent:hostdev_plugin_allocations_total{resource="r", result="refused"}': "0x20 3x40",
      'agent:hostdev_plugin_allocations_total{resource="r", result="done"}': "0x20 9x40"}, {25: 0}),
    # No more than three in 15 minutes, though there are more in half an hour.
    ("HostdevAllocationsRefused",
     {'agent:hostdev_plugin_allocations_total{resource="r", result="refused"}': steps(3, 15)}, {60: 0}),

    ("HostdevResourceClaimsFailing",
     {'agent:hostdev_dra_prepare_errors_total{operation="prepare"}': "0x20 11x40"}, {20: 0, 21: 1, 35: 1, 36: 0}),
    # Not both operations together.
    ("HostdevResourceClaimsFailing",
     {f'agent:hostdev_dra_prepare_errors_total{{operation="{operation}"}}': "0x20 10x40"
      for operation in ("prepare", "unprepare")}, {25: 0}),
    ("HostdevResourceClaimsFailing",
     {'agent:hostdev_dra_prepare_errors_total{operation="unprepare"}': steps(10, 15)}, {60: 0}),
    ("HostdevDRANotRegistered", {'agent:hostdev_dra_registered{driver="hostdev.io"}': "0x30"}, {4: 0, 5: 1}),
    ("HostdevDRANotRegistered", {'agent:hostdev_dra_registered{driver="hostdev.io"}': "1x30"}, {30: 0}),
    ("HostdevDRAWithheld", {"agent:hostdev_dra_withheld": "1x40"}, {14: 0, 15: 1}),
    ("HostdevDRAWithheld", {"agent:hostdev_dra_withheld": "0x40"}, {40: 0}),
    ("HostdevDRAFilesRemoved",
     {'agent:hostdev_dra_files_restored_total{result="done"}': "0x20 4x120"}, {20: 0, 21: 1, 80: 1, 81: 0}),
    ("HostdevDRAFilesRemoved", {f'agent:hostdev_dra_files_restored_total{{result="{result}"}}': "0x20 3x60"
                                for result in ("done", "failed")}, {25: 0}),
    ("HostdevDRAFilesRemoved",
     {'agent:hostdev_dra_files_restored_total{result="failed"}': steps(3, 60, 3)}, {150: 0}),

    ("HostdevControllerDown", {"controller:up": "0x30", "agent:up": "1x30"}, {4: 0, 5: 1}),
    ("HostdevControllerDown", {"controller:up": "1x30", "agent:up": "0x30"}, {30: 0}),
    ("HostdevNoLeader", {'controller:hostdev_leader{lease="hostdev-controller"}': "0x30"}, {4: 0, 5: 1}),
    ("HostdevNoLeader", {'controller:hostdev_leader{lease="hostdev-controller"}': "1x30",
                         'controller:hostdev_leader{lease="another"}': "0x30"}, {30: 0}),
    ("HostdevNodesWithoutAgent", {'controller:hostdev_cluster_nodes{reach="AgentNotRunning"}': "1x30"}, {9: 0, 10: 1}),
    ("HostdevNodesWithoutAgent", {'controller:hostdev_cluster_nodes{reach="AgentNotRunning"}': "0x30"} | {
        f'controller:hostdev_cluster_nodes{{reach="{reach}"}}': "2x30"
        for reach in ("Reachable", "NodeGone", "NodeNotReady")}, {30: 0}),
    ("HostdevClaimsUnreachable",
     {'controller:hostdev_cluster_claims{kind="K", ready="False", reach="NodeGone"}': "1x40"}, {14: 0, 15: 1}),
    ("HostdevClaimsUnreachable",
     {'controller:hostdev_cluster_claims{kind="K", ready="False", reach="NodeGone"}': "0x40",
      'controller:hostdev_cluster_claims{kind="K", ready="False", reach="Reachable"}': "5x40"}, {40: 0}),

    # The 99th percentile is 1.14 s, 1 s and just below that.
    ("HostdevWebhookSlow", reviews(0, 9890, 10000), {10: 0, 11: 1}),
    ("HostdevWebhookSlow", reviews(0, 99, 100), {40: 0}),
    ("HostdevWebhookSlow", reviews(0, 100, 100), {40: 0}),
    # Some in every ten minutes, and some only once.
    ("HostdevWebhookSlow", slow_reviews(steps(100, 10)), {19: 0, 20: 1, 49: 1}),
    ("HostdevWebhookSlow", slow_reviews("0x20 100x60"), {30: 0, 31: 0, 40: 0}),
    *(("HostdevWebhookCertificateExpiring",
       {"controller:hostdev_webhook_certificate_end_timestamp_seconds": values}, fires)
      for values, fires in (("431999+60x40", {14: 0, 15: 1}), ("432000+60x40", {40: 0}), ("0x40", {40: 0}),
                            ("1x40", {15: 1}))),

    ("HostdevForbidden", {f'agent:{REQUESTS}{{verb="v", resource="r", code="403"}}': "0x20 1x8 2x40"},
     {35: 0, 36: 1, 45: 0}),
    ("HostdevForbidden", {f'agent:{REQUESTS}{{verb="v", resource="r", code="403"}}': "5x60",
                          f'agent:{REQUESTS}{{verb="v", resource="r", code="200"}}': "0+9x60"}, {60: 0}),
    ("HostdevApiErrors", {f':{REQUESTS}{{job="j", node="n", instance="{code}", code="{one}"}}': f"0+{number}x40"
                          for code in ("503", "429", "timeout", "error")
                          for one, number in ((code, 60), ("200", 480))}, {15: 0, 16: 4}),
    ("HostdevApiErrors", {f'agent:{REQUESTS}{{code="{code}"}}': f"0+{number}x40"
                          for code, number in (("503", 60), ("200", 120), ("403", 120), ("404", 120), ("409", 180))},
     {40: 0}),
    # Some in every ten minutes; and a tenth of all from when most others are ten minutes past.
    ("HostdevApiErrors", {f'agent:{REQUESTS}{{code="503"}}': steps(600, 10),
                          f'agent:{REQUESTS}{{code="200"}}': "0+60x49"}, {24: 0, 25: 1}),
    ("HostdevApiErrors", {f'agent:{REQUESTS}{{code="503"}}': "0+60x70",
                          f'agent:{REQUESTS}{{code="200"}}': "0+5400x30 162000x40"}, {52: 0, 60: 1}),
    ("HostdevWatchInterrupted", {f'agent:{TROUBLES}{{resource="r", reason="failed"}}': steps(11, 15)}, {29: 0, 30: 1}),
    ("HostdevWatchInterrupted", {f'agent:{TROUBLES}{{resource="r", reason="failed"}}': steps(10, 15),
                                 f'agent:{TROUBLES}{{resource="r", reason="ended"}}': "0+9x74",
                                 f'agent:{TROUBLES}{{resource="s", reason="not installed"}}': "0+9x74"}, {70: 0}),

    ("HostdevReconcileFailing", {QUEUE["retries"]: steps(11, 30), QUEUE["done"]: "4x149"}, {44: 0, 45: 1}),
    ("HostdevReconcileFailing", {QUEUE["retries"]: steps(10, 30), QUEUE["done"]: "4x149"}, {120: 0}),
    ("HostdevReconcileFailing", {QUEUE["retries"]: "0+1x149", QUEUE["done"]: steps(1, 30)}, {29: 1, 120: 0}),
    ("HostdevReconcileFailing", {QUEUE["retries"]: "0+1x149", QUEUE["done"]: "0x29 1x149"}, {29: 1, 30: 0, 74: 0, 75: 1}),
    ("HostdevReconcileFailing", {QUEUE["retries"]: "0+1x149", QUEUE["done"]: "4x149", QUEUE["retry"]: "0+1x149"},
     {120: 1}),

    ("HostdevObjectsUnreadable", {'agent:hostdev_store_unreadable_objects{resource="r"}': "1x40"}, {14: 0, 15: 1}),
    ("HostdevObjectsUnreadable", {'agent:hostdev_store_unreadable_objects{resource="r"}': "0x40"}, {40: 0}),
    ("HostdevRestarting", {"agent:process_start_time_seconds": "1x9 2x9 3x9 4x9 5x60",
                           "controller:process_start_time_seconds": "1x9 2x9 3x9 4x70"}, {39: 0, 40: 1, 69: 1, 70: 0}),
    ("HostdevRestarting", {"controller:process_start_time_seconds": "1x9 2x9 3x9 4x9 5x60",
                           ':process_start_time_seconds{job="other"}': "0+60x60"}, {39: 0, 40: 1}),
    ("HostdevRestarting", {"agent:process_start_time_seconds": "1x19 2x19 3x19 4x19 5x19 6x19 7x19"}, {130: 0}),
    ("HostdevMemoryHigh", {"agent:process_resident_memory_bytes": "67108865x70"}, {29: 0, 30: 1}),
    ("HostdevMemoryHigh", {"agent:process_resident_memory_bytes": "67108864x70",
                           "controller:process_resident_memory_bytes": "100000000x70",
                           ':process_resident_memory_bytes{job="other"}': "100000000x70"}, {70: 0}),
]


def series(short):
    """`agent:metric{more}` -> the series as the agent's pod gives it."""
    who, name, more = re.fullmatch(r"(\w*):(\w+)(?:\{(.*)\})?", short).groups()
    return f"{name}{{{', '.join(part for part in (WHO.get(who), more) if part)}}}"


def edges(name):
    """Those of an alert in promtool's form."""
    return {"rule_files": [f"{name}.rules"], "evaluation_interval": "1m", "tests": [
        {"interval": "1m", "input_series": [{"series": series(short), "values": text} for short, text in values.items()],
         "promql_expr_test": [
             {"expr": f'count(ALERTS{{alertname="{alert}", alertstate="firing"}}) or vector(0)',
              "eval_time": f"{minute}m", "exp_samples": [{"labels": "{}", "value": number}]}
             for minute, number in fires.items()]}
        for alert, values, fires in EDGES if alert == name]}

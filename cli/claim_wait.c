#include "cli/claim_wait.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_map.h"
#include "api/object.h"
#include "api/pcideviceclaim.h"
#include "api/usbdeviceclaim.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "cli/client/lists.h"
#include "cli/client/pod_facts.h"
#include "cli/client/rights.h"
#include "cli/command.h"
#include "cli/print/advice.h"

enum {
	LOOK_MS = 300,
	DELETE_AGAIN_MS = 1000,
	SHARED_MS = 5000, /* an agent that is well has seen all claims of a run long before */
	LINE_MAX_BYTES = 600,
};

void claim_wait_done(struct claim_wait *wait)
{
	claim_target_done(&wait->target);
	free(wait->uid);
	free(wait->object);
	free(wait->driver);
	free(wait->rest);
	free(wait->told);
	*wait = (struct claim_wait){ 0 };
}

/* --- one claim -------------------------------------------------------------------------------- */

static void *decode(enum device_type type, const char *text)
{
	const struct api_kind *kind = cluster_kind(claim_kind(type));
	auto_json json_t *json = NULL;
	void *object;

	if (!text || json_map_load(text, strlen(text), &json, NULL) < 0 ||
	    api_object_decode(kind, json, &object, NULL) < 0)
		return NULL;
	return object;
}

static const struct api_conditions *conditions_of(enum device_type type, const void *object)
{
	return type == DEVICE_USB ? &((const struct usbdeviceclaim *)object)->status.conditions
				  : &((const struct pcideviceclaim *)object)->status.conditions;
}

static const char *holder_of(enum device_type type, const void *object)
{
	return type == DEVICE_USB ? ((const struct usbdeviceclaim *)object)->status.holder
				  : ((const struct pcideviceclaim *)object)->status.holder;
}

/* After a patch: is the condition Ready still about the claim as it was before? */
static bool is_outdated(enum device_type type, const void *object)
{
	const struct pcideviceclaim *claim = object;

	return type == DEVICE_PCI && claim->status.observed_generation > 0 &&
	       claim->status.observed_generation < claim->meta.generation;
}

/* The agent has not reported about the claim as it is now. */
static void add_node(struct str *line, enum device_type type, const void *object)
{
	const char *node = type == DEVICE_USB
				   ? ((const struct usbdeviceclaim *)object)->status.node_name
				   : ((const struct pcideviceclaim *)object)->spec.node_name;

	str_add(line, "waiting for the agent of ");
	str_add(line, node && node[0] ? "node " : "its node");
	out_text(line, node ? node : "");
}

/* What the claim waits for, as its condition says it. */
static void add_line(struct str *line, enum device_type type, const void *object)
{
	const struct api_conditions *list = conditions_of(type, object);
	const struct api_condition *reach = api_conditions_find(list, "NodeReachable");
	const struct api_condition *c = api_conditions_find(list, "Ready");
	const char *holder = holder_of(type, object);
	bool deleting = ((const struct api_meta *)object)->deletion_timestamp != NULL;

	if (reach && reach->status && strcmp(reach->status, "False") == 0)
		c = reach;
	/* A claim that is being deleted, and still Ready, has not been seen by the agent either. */
	if (!c || (deleting && c->status && strcmp(c->status, "True") == 0) ||
	    (c != reach && is_outdated(type, object))) {
		add_node(line, type, object);
		return;
	}
	out_text(line, c->reason ? c->reason : "");
	if (c->message && c->message[0]) {
		auto_free char *message = advice_flags(c->message);

		str_add(line, ": ");
		out_text(line, message);
	}
	if (holder && (!c->message || !strstr(c->message, holder))) {
		str_add(line, " (");
		out_text(line, holder);
		str_add_char(line, ')');
	}
}

/* The device is released, but the claim stays. */
static void add_kept(struct str *line, enum device_type type, const struct api_meta *claim)
{
	auto_free char *kept = advice_kept(claim);
	auto_free char *command = advice_unkeep(type, claim);

	out_text(line, kept);
	str_add(line, ". ");
	out_text(line, command);
}

static enum claim_progress judge_ready(enum device_type type, const void *object)
{
	const struct api_meta *meta = object;
	const struct api_condition *ready =
		api_conditions_find(conditions_of(type, object), "Ready");

	if (meta->deletion_timestamp)
		return PROGRESS_LOST;
	if (is_outdated(type, object) || !ready || !ready->status)
		return PROGRESS_WAITING;
	if (strcmp(ready->status, "True") == 0)
		return PROGRESS_DONE;
	if (ready->reason && strcmp(ready->reason, "GroupShared") == 0)
		return PROGRESS_SHARED;
	return ready->reason && strcmp(ready->reason, "DriverNotAllowed") == 0 ? PROGRESS_REFUSED
									       : PROGRESS_WAITING;
}

enum claim_progress claim_progress(enum claim_goal goal, enum device_type type, const char *json,
				   const char *uid, struct str *line)
{
	void *object = decode(type, json);
	const struct api_meta *meta = object;
	bool is_it = object && (!uid || !meta->uid || strcmp(meta->uid, uid) == 0);
	enum claim_progress progress;

	if (goal == CLAIM_GONE)
		progress = !is_it                  ? PROGRESS_DONE
			   : state_finalizer(meta) ? PROGRESS_KEPT
						   : PROGRESS_WAITING;
	else
		progress = is_it ? judge_ready(type, object) : PROGRESS_LOST;
	if (progress == PROGRESS_LOST)
		str_add(line, "the claim was deleted");
	else if (progress == PROGRESS_KEPT)
		add_kept(line, type, object);
	else if (progress != PROGRESS_DONE)
		add_line(line, type, object);
	str_cut(line, LINE_MAX_BYTES);
	api_object_free(cluster_kind(claim_kind(type)), object);
	return progress;
}

/* While the claim is released, its status stops to say that it has the device. */
static void take_driver(struct claim_wait *wait, const struct pcideviceclaim *claim)
{
	const char *driver = claims_driver(claim->spec.driver);
	const char *before = claim->status.kernel_driver_to_unbind;
	bool bound = claim->status.passthrough_enabled || (before && *before);

	if (!wait->driver && bound && (!before || strcmp(before, driver) != 0))
		wait->driver = xstrdup(driver);
}

void claim_wait_take(struct claim_wait *wait, const struct session_answer *answer)
{
	void *object = decode(wait->target.type, answer->body);
	const struct api_meta *meta = object;

	if (!object)
		return;
	if (!wait->uid)
		wait->uid = xstrdup_or_null(meta->uid);
	str_set(&wait->object, answer->body);
	if (wait->target.type == DEVICE_PCI)
		take_driver(wait, object);
	api_object_free(cluster_kind(claim_kind(wait->target.type)), object);
}

/* --- all of them ------------------------------------------------------------------------------ */

/* Print a line only if it differs from the last one. */
static void tell(struct claim_wait *wait, const char *text)
{
	auto_free char *line = xasprintf("%s: %s", wait->target.name, text);

	if (wait->told && strcmp(wait->told, line) == 0)
		return;
	command_note("%s", line);
	free(wait->told);
	wait->told = take_ptr(line);
}

/* Does the claim that is to be deleted still exist, and not another one of its name? */
static bool is_left(struct command_run *run, const struct claim_wait *wait)
{
	auto_answer struct session_answer answer = { 0 };
	auto_str struct str line = STR_INIT;
	int r = claim_read(run->session, &wait->target, &answer, NULL);

	return r != -ENOENT && (r < 0 || claim_progress(CLAIM_GONE, wait->target.type, answer.body,
							wait->uid, &line) != PROGRESS_DONE);
}

int claim_delete_if_allowed(struct command_run *run, const struct claim_wait *wait,
			    struct session_answer *ret_answer, struct err *err)
{
	auto_answer struct session_answer asked = { 0 };
	int r = claim_delete(run->session, &wait->target, true, &asked, err);

	if (r == 0)
		return claim_delete(run->session, &wait->target, false, ret_answer, err);
	*ret_answer = asked;
	asked = (struct session_answer){ 0 };
	return r;
}

bool claim_wait_pod(const char *refusal, char **ret_ns, char **ret_pod)
{
	static const char before[] = "pod ";
	const char *at = refusal;
	const char *slash;
	size_t len;

	while ((at = strstr(at, before))) {
		at += sizeof(before) - 1;
		len = strcspn(at, " ");
		slash = memchr(at, '/', len);
		if (!slash || strncmp(at + len, " has it", strlen(" has it")) != 0)
			continue;
		*ret_ns = xstrndup(at, (size_t)(slash - at));
		*ret_pod = xstrndup(slash + 1, len - (size_t)(slash - at) - 1);
		return true;
	}
	return false;
}

/* Is the pod that the refusal names deleted already? The kubelet lists its device for some seconds
 * more. False if the caller may not read it. */
static bool is_pod_deleted(struct command_run *run, const char *refusal)
{
	struct pod_facts facts = { 0 };
	auto_free char *ns = NULL;
	auto_free char *pod = NULL;
	struct err err = { 0 };
	bool deleted;
	int r;

	if (!claim_wait_pod(refusal, &ns, &pod))
		return false;
	r = pod_facts_read(run->session, ns, pod, &facts, &err);
	deleted = r == -ENOENT || (r == 0 && facts.deleted);
	pod_facts_done(&facts);
	return deleted;
}

/* While a pod has the device, the webhook refuses the deletion. Repeat it until it is accepted. */
static int delete_again(struct command_run *run, struct claim_wait *wait)
{
	auto_answer struct session_answer answer = { 0 };
	auto_free char *why = NULL;
	struct err err = { 0 };
	int r;

	if (timefmt_now_ms() < wait->again_ms)
		return COMMAND_OK;
	wait->again_ms = timefmt_now_ms() + DELETE_AGAIN_MS;
	wait->denied = is_left(run, wait);
	if (!wait->denied)
		return COMMAND_OK;
	r = claim_delete_if_allowed(run, wait, &answer, &err);
	wait->denied = r < 0 && r != -ENOENT;
	if (!wait->denied || r == -EINTR || session_late(run->session))
		return COMMAND_OK;
	why = claims_refusal(&answer, &err);
	if (answer.status == 409 && is_pod_deleted(run, why))
		tell(wait,
		     "its pod is deleted: waiting until the kubelet lists the device as free");
	else
		tell(wait, why);
	return answer.status == 409 || (err.kind == ERR_RETRY && r != -EACCES) ? COMMAND_OK
									       : COMMAND_FAILED;
}

/* The agent writes the PCIDevice with the scan that follows the release, a moment after the claim
 * has gone. Does it still show the driver of the claim? False for a user who may not read it. */
static bool is_shown_claimed(struct command_run *run, struct claim_wait *wait)
{
	auto_free char *line = NULL;
	const struct cluster_device *device;
	struct cluster *cluster;
	bool claimed = false;

	if (!wait->driver)
		return false;
	cluster = cluster_new();
	if (lists_read_one(run->session, CLUSTER_PCIDEVICE, wait->target.name, cluster, NULL) ==
	    0) {
		device = cluster_device(cluster, DEVICE_PCI, wait->target.name);
		claimed = device && strcmp(device->driver, wait->driver) == 0;
	}
	cluster_free(cluster);
	if (claimed) {
		line = xasprintf("its claim is gone; waiting until its PCIDevice no longer shows "
				 "the driver %s",
				 wait->driver);
		tell(wait, line);
	}
	return claimed;
}

/* @refused: why its claim cannot include the whole group. */
static void tell_together(struct command_run *run, const struct claim_wait *wait,
			  const char *refused)
{
	const char *name = wait->target.name;
	const char *user = run->settings.claim_user;
	struct rights *rights = NULL;
	auto_free char *together = NULL;

	if (!user)
		(void)rights_read(run->session, &rights, NULL);
	if (wait->rest && *wait->rest && rights_claim(rights, DEVICE_PCI, wait->rest))
		together =
			xasprintf("`kubectl hostdev claim %s%s%s` claims the rest of the group, ",
				  wait->rest, user ? " --for " : "", user ? user : "");
	else if (wait->rest && *wait->rest)
		together = xasprintf("the verb claim on %s, which you do not have, would let you "
				     "claim the rest of the group, ",
				     wait->rest);
	rights_free(rights);
	command_note("%s: its claim stays; it cannot include the whole group: %s; %s`kubectl "
		     "hostdev release %s` deletes the claim",
		     name, refused, together ? together : "", name);
}

/* The agent may have seen this claim before the others of this run, which complete the group. */
static int tell_shared(struct command_run *run, struct claim_wait *wait, const char *line)
{
	const char *user = run->settings.claim_user;
	auto_free char *refused = NULL;
	struct claim_spec spec;

	if (wait->shared_ms == 0)
		wait->shared_ms = timefmt_now_ms();
	if (!wait->alone && timefmt_now_ms() - wait->shared_ms < SHARED_MS)
		return COMMAND_OK;
	tell(wait, line);
	command_claim(&run->settings, &spec);
	refused = claims_group_refusal(run->session, &wait->target, &spec);
	if (refused) {
		tell_together(run, wait, refused);
		return COMMAND_FAILED;
	}
	command_note(
		"%s: its claim stays; `kubectl hostdev claim %s --include-group%s%s` claims the "
		"whole group, `kubectl hostdev release %s` deletes the claim",
		wait->target.name, wait->target.name, user ? " --for " : "", user ? user : "",
		wait->target.name);
	return COMMAND_FAILED;
}

/* A read that fails temporarily does not end the wait: it is repeated. */
static int look(struct command_run *run, struct claim_wait *wait, enum claim_goal goal)
{
	auto_answer struct session_answer answer = { 0 };
	auto_str struct str line = STR_INIT;
	enum claim_progress progress;
	struct err err = { 0 };
	int r = claim_read(run->session, &wait->target, &answer, &err);

	if (r == -EINTR || (r < 0 && r != -ENOENT && session_late(run->session)))
		return COMMAND_OK;
	if (r < 0 && r != -ENOENT) {
		tell(wait, err.msg);
		return err.kind == ERR_RETRY && r != -EACCES ? COMMAND_OK : COMMAND_FAILED;
	}
	if (r == 0)
		claim_wait_take(wait, &answer);
	progress = claim_progress(goal, wait->target.type, r == 0 ? answer.body : NULL, wait->uid,
				  &line);
	if (progress == PROGRESS_SHARED)
		return tell_shared(run, wait, str_cstr(&line));
	wait->shared_ms = 0;
	wait->kept = progress == PROGRESS_KEPT;
	switch (progress) {
	case PROGRESS_DONE:
		/* The driver may be that of a newer claim. */
		wait->done = goal == CLAIM_READY || r == 0 || !is_shown_claimed(run, wait);
		return COMMAND_OK;
	case PROGRESS_WAITING:
	case PROGRESS_KEPT:
		tell(wait, str_cstr(&line));
		return COMMAND_OK;
	case PROGRESS_LOST:
		tell(wait, str_cstr(&line));
		return COMMAND_FAILED;
	case PROGRESS_REFUSED:
		tell(wait, str_cstr(&line));
		command_note("%s: its claim stays; `kubectl hostdev release %s` deletes it",
			     wait->target.name, wait->target.name);
		return COMMAND_FAILED;
	case PROGRESS_SHARED:
		break;
	}
	return COMMAND_FAILED;
}

/* A claim that disappears does not end the wait for the others. */
static size_t look_at_all(struct command_run *run, struct claim_wait *waits, size_t len,
			  enum claim_goal goal, int *status)
{
	size_t left = 0;

	for (size_t i = 0; i < len && !session_interrupted(run->session); i++) {
		if (waits[i].done || waits[i].skip)
			continue;
		if ((waits[i].denied ? delete_again(run, &waits[i]) : look(run, &waits[i], goal)) !=
		    COMMAND_OK) {
			waits[i].skip = true;
			*status = COMMAND_FAILED;
		} else if (!waits[i].done) {
			left++;
		}
	}
	return left;
}

int claim_worse(int status, int other)
{
	static const int worst_first[] = { COMMAND_INTERRUPTED, COMMAND_FAILED, COMMAND_LATE };

	for (size_t i = 0; i < ARRAY_LEN(worst_first); i++) {
		if (status == worst_first[i] || other == worst_first[i])
			return worst_first[i];
	}
	return COMMAND_OK;
}

/* How many claims are not deleted, because their deletion is refused? */
static size_t count_denied(const struct claim_wait *waits, size_t len)
{
	size_t denied = 0;

	for (size_t i = 0; i < len; i++)
		denied += waits[i].denied && !waits[i].skip;
	return denied;
}

/* If a pod still has the device when the wait ends, the claim has not been deleted. */
static void say_denied(const struct claim_wait *waits, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (waits[i].denied && !waits[i].skip)
			command_note(
				"%s: its claim is not deleted, for the reason above: release it "
				"again when that is resolved",
				waits[i].target.name);
	}
}

static int say_interrupted(enum claim_goal goal, const struct claim_wait *waits, size_t len)
{
	say_denied(waits, len);
	if (goal == CLAIM_READY)
		command_note(
			"Interrupted. Claims that were created stay; `kubectl hostdev release` "
			"deletes them.");
	else
		command_note(
			"Interrupted. Deleted claims stay deleted: each is gone once its device is "
			"released.");
	return COMMAND_INTERRUPTED;
}

/* "vm1-000001000, vm1-000002000": those that are waited for. */
static char *names_left(const struct claim_wait *waits, size_t len)
{
	auto_str struct str names = STR_INIT;

	for (size_t i = 0; i < len; i++) {
		if (!waits[i].done && !waits[i].skip)
			str_addf(&names, "%s%s", names.len ? ", " : "", waits[i].target.name);
	}
	str_cut(&names, LINE_MAX_BYTES);
	return str_detach(&names);
}

char *claim_wait_late(enum claim_goal goal, const struct claim_wait *waits, size_t len)
{
	auto_free char *names = names_left(waits, len);
	size_t denied = count_denied(waits, len);
	size_t left = 0;
	size_t kept = 0;

	for (size_t i = 0; i < len; i++) {
		left += !waits[i].done && !waits[i].skip;
		kept += !waits[i].done && !waits[i].skip && waits[i].kept;
	}
	if (goal == CLAIM_READY)
		return xasprintf(
			"Timed out (--timeout): %zu %s not ready: %s. %s; `kubectl hostdev "
			"why` shows what it waits for, `kubectl hostdev release` deletes "
			"%s.",
			left, left == 1 ? "claim is" : "claims are", names,
			left == 1 ? "It stays" : "They stay", left == 1 ? "it" : "them");
	if (kept == left)
		return xasprintf("Timed out (--timeout): %zu %s not deleted: %s.", left,
				 left == 1 ? "device is released, but its claim is"
					   : "devices are released, but their claims are",
				 names);
	return xasprintf("Timed out (--timeout): %zu %s not released: %s.%s", left,
			 left == 1 ? "device is" : "devices are", names,
			 denied == left ? ""
			 : denied > 0
				 ? " Those whose claim is deleted will be once the reason above "
				   "is resolved."
			 : left == 1 ? " It will be once the reason above is resolved."
				     : " They will be once the reason above is resolved.");
}

static int say_late(enum claim_goal goal, const struct claim_wait *waits, size_t len)
{
	auto_free char *text = claim_wait_late(goal, waits, len);

	command_note("%s", text);
	say_denied(waits, len);
	return COMMAND_LATE;
}

int claim_wait_all(struct command_run *run, struct claim_wait *waits, size_t len,
		   enum claim_goal goal)
{
	int status = COMMAND_OK;

	for (size_t i = 0; i < len; i++)
		waits[i].alone = len == 1;
	while (look_at_all(run, waits, len, goal, &status) > 0) {
		if (session_interrupted(run->session))
			return say_interrupted(goal, waits, len);
		if (session_late(run->session))
			return claim_worse(status, say_late(goal, waits, len));
		(void)session_wait(run->session, LOOK_MS);
	}
	return session_interrupted(run->session) ? say_interrupted(goal, waits, len) : status;
}

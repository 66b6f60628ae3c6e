#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_map.h"
#include "api/meta.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "cli/client/claims.h"
#include "cli/client/rights.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/model/cluster.h"
#include "cli/print/advice.h"
#include "cli/print/device_json.h"
#include "cli/target.h"

static const char unchanged[] = "already claimed, nothing would change";

/* The answer of the API server and its webhooks to a dry run: a claim, or a release, of one
 * device. */
struct rehearsal {
	const struct cluster_device *device;
	bool accepted;
	const char *user; /* whose the claim would be; NULL: the caller's */
	bool unchanged;   /* accepted: the caller already has the same claim */
	bool unknown;     /* no answer, so it could not be checked */
	bool waits;       /* a release of a device that a pod has */
	char *pod;   /* a pod that a claim, or a release, waits for: the line says so; NULL: none */
	char *rest;  /* of a claim: as targets_group_rest() */
	bool shared; /* and it waits for them */
	bool together; /* and the caller may claim them */
	/* shared: why a claim of the whole group would be refused; NULL: it would not */
	char *whole;
	/* of a release: claimed functions of its group that would be pending; NULL: none */
	char *left;
	char *why;      /* not accepted: the cause */
	char *warnings; /* one on each line */
};

/* A claim of one function is ready only while all functions of its group that have a driver are
 * claimed. Which claims, that are neither of the whole group nor in this plan, would wait for that
 * after the release? The caller frees. */
static char *left_by_release(const struct targets *targets, const struct cluster_device *device)
{
	const struct pcidevice *pci = device->type == DEVICE_PCI ? device->object : NULL;
	const struct pcideviceclaim *claim = device->claim_object;
	auto_str struct str left = STR_INIT;

	if (!pci || !claim || (claim->spec.release && strcmp(claim->spec.release, "None") == 0))
		return NULL;
	for (size_t i = 0; i < pci->status.iommu_group_members.len; i++) {
		const struct cluster_device *other = cluster_device_at(
			targets->cluster, device->node, pci->status.iommu_group_members.items[i]);

		if (!other || !other->claim || other->claim->deletion_timestamp ||
		    other->type != DEVICE_PCI || targets_have(targets, other))
			continue;
		claim = other->claim_object;
		if (claim->spec.include_iommu_group)
			return NULL;
		str_addf(&left, "%s%s", left.len ? ", " : "", other->name);
	}
	return left.len > 0 ? str_detach(&left) : NULL;
}

/* "pod default/vm-1 has it", or a function of its IOMMU group that is released with it. NULL: no
 * pod has any. The caller frees. */
static char *pod_line(const struct cluster_device *device, const char *address)
{
	const struct pcidevice_allocations *list = device ? device->allocations : NULL;

	if (!list || list->len == 0)
		return NULL;
	return xasprintf("pod %s/%s has %s: the agent waits until it ends",
			 list->items[0].namespace, list->items[0].pod, address ? address : "it");
}

/* A claim waits for the pods of others, and the release of one that waits for them does not. */
static bool waits_for_pods(const struct cluster_device *device, bool release)
{
	const struct api_condition *ready =
		device->claim_conditions ? api_conditions_find(device->claim_conditions, "Ready")
					 : NULL;

	if (!release)
		return !device->claim;
	return !ready || !ready->reason ||
	       (strcmp(ready->reason, "InUse") != 0 && strcmp(ready->reason, "Held") != 0);
}

static char *find_pod(const struct targets *targets, const struct cluster_device *device,
		      bool release)
{
	const struct pcidevice *pci = device->type == DEVICE_PCI ? device->object : NULL;
	char *line = pod_line(device, NULL);

	for (size_t i = 0; !line && release && pci && i < pci->status.iommu_group_members.len;
	     i++) {
		const char *address = pci->status.iommu_group_members.items[i];

		line = pod_line(cluster_device_at(targets->cluster, device->node, address),
				address);
	}
	return line;
}

/* The device is already claimed. Is the claim the caller's, and would the flags change it? */
static int rehearse_change(struct command_run *run, struct rehearsal *rehearsal,
			   const struct claim_spec *spec, struct session_answer *answer,
			   struct err *err)
{
	const struct cluster_device *device = rehearsal->device;
	bool mine = device->claim && claims_mine(run->session, device, spec);
	auto_free char *kept = device->claim ? advice_kept(device->claim) : NULL;
	auto_free char *text = NULL;
	enum claim_change change = CLAIM_SAME;
	struct claim_target target;
	int r = -EEXIST;

	if (kept)
		rehearsal->why = take_ptr(kept);
	else if (device->claim && device->claim->deletion_timestamp)
		rehearsal->why = xstrdup("it is being released; claim it when that is done");
	else if (mine)
		change = claim_compare(device, spec, &text);
	if (change == CLAIM_PATCH) {
		session_answer_done(answer);
		claim_target_init(&target, device);
		r = claim_patch(run->session, &target, text, true, answer, err);
		claim_target_done(&target);
	} else if (change == CLAIM_OTHER) {
		rehearsal->why = take_ptr(text);
	} else if (mine && !rehearsal->why) {
		rehearsal->unchanged = true;
		r = 0;
	} else if (!rehearsal->why) {
		rehearsal->why = xasprintf("it is already claimed%s%s",
					   *device->user ? ", by " : "", device->user);
	}
	return r;
}

static void rehearse(struct command_run *run, struct rehearsal *rehearsal)
{
	const struct command_settings *s = &run->settings;
	const char *misfit;
	struct claim_spec spec;
	auto_answer struct session_answer answer = { 0 };
	struct claim_target target;
	struct err err = { 0 };
	int r;

	command_claim(s, &spec);
	misfit = claim_misfit(rehearsal->device->type, &spec);
	if (misfit) {
		rehearsal->warnings = xstrdup("");
		rehearsal->why = xstrdup(misfit);
		return;
	}
	claim_target_init(&target, rehearsal->device);
	r = s->release ? claim_delete(run->session, &target, true, &answer, &err)
		       : claim_create(run->session, &target, &spec, true, &answer, &err);
	claim_target_done(&target);
	if (r == -EEXIST)
		r = rehearse_change(run, rehearsal, &spec, &answer, &err);
	rehearsal->accepted = r == 0;
	/* For a webhook that does not answer, the API server returns 500. */
	rehearsal->unknown =
		r < 0 && (answer.status < 400 || answer.status == 429 || answer.status >= 500);
	rehearsal->waits = s->release && answer.status == 409;
	if (!rehearsal->rest)
		claims_forget_group(&answer);
	/* The webhook's warnings are about a new claim, not about the existing one. */
	rehearsal->warnings =
		xstrdup(answer.warnings && !rehearsal->unchanged ? answer.warnings : "");
	if (r == -ENOENT && s->release)
		rehearsal->why = xstrdup("it is not claimed");
	else if (r < 0 && !rehearsal->why)
		rehearsal->why = claims_refusal(&answer, &err);
}

/* Would it wait for the rest of its IOMMU group? Then a claim of all of it is rehearsed as well. */
static void rehearse_group(struct command_run *run, struct rehearsal *rehearsal)
{
	const struct command_settings *s = &run->settings;
	struct claim_target target;
	struct rights *rights = NULL;
	struct claim_spec spec;

	rehearsal->shared = rehearsal->rest && rehearsal->accepted && !s->release &&
			    !s->include_group &&
			    strcmp(rehearsal->device->verdict.reason, "GroupShared") == 0;
	if (!rehearsal->shared)
		return;
	command_claim(s, &spec);
	claim_target_init(&target, rehearsal->device);
	rehearsal->whole = claims_group_refusal(run->session, &target, &spec);
	if (rehearsal->whole && !rehearsal->user)
		(void)rights_read(run->session, &rights, NULL);
	rehearsal->together = rights_claim(rights, DEVICE_PCI, rehearsal->rest);
	rights_free(rights);
	claim_target_done(&target);
}

/* A line below the result, broken where the terminal ends. @text is not clean. */
static void add_line(struct out *out, const char *text)
{
	auto_str struct str clean = STR_INIT;
	auto_free char *said = advice_flags(text);

	out_text(&clean, said);
	str_add(&out->text, "  ");
	out_wrap(out, &out->text, str_cstr(&clean), 2, 4);
	str_add_char(&out->text, '\n');
}

static void add_warnings(const struct rehearsal *rehearsal, struct out *out)
{
	const char *line = rehearsal->warnings;

	while (*line) {
		size_t len = strcspn(line, "\n");
		auto_free char *text = xstrndup(line, len);
		auto_free char *told =
			rehearsal->whole ? advice_without_group(text) : xstrdup(text);

		add_line(out, told);
		line += len + (line[len] == '\n');
	}
}

/* A verdict with a time comes from a condition that the agent wrote, unless the node has a
 * problem. */
static void add_verdict(const struct cluster_device *device, bool whole, struct out *out)
{
	const struct state_verdict *verdict = &device->verdict;
	auto_free char *text =
		device->fault ? node_fault_sentence(device->fault, device->node, timefmt_wall_ms())
		: verdict->since[0] ? xasprintf("its node says: %s%s%s", verdict->reason,
						verdict->message[0] ? ": " : "", verdict->message)
				    : xstrdup(verdict->message);
	auto_free char *told = whole ? xstrdup(text) : advice_without_group(text);

	if (verdict->reason[0])
		add_line(out, told);
}

/* With a USB controller, the node loses what is plugged into it. */
static void add_usb_below(const struct cluster_device *device, struct out *out)
{
	auto_free char *below = device->type == DEVICE_PCI ? device_usb_below(device) : xstrdup("");
	auto_free char *text =
		xasprintf("its USB devices disappear from the node and go with it: %s", below);

	if (below[0] && device->conflict != CONFLICT_USB)
		add_line(out, text);
}

/* The caller frees. */
static char *result_text(const struct rehearsal *rehearsal, bool waits)
{
	if (rehearsal->unchanged)
		return xstrdup(unchanged);
	if (waits && rehearsal->pod)
		return xstrdup("would wait");
	if (waits)
		return xasprintf("would wait: %s", rehearsal->device->verdict.reason);
	if (rehearsal->accepted)
		return xstrdup("would be accepted");
	if (rehearsal->unknown)
		return xstrdup("could not be checked");
	return xstrdup(rehearsal->waits ? "would wait" : "would be refused");
}

static void add_result(const struct rehearsal *rehearsal, bool waits, struct out *out)
{
	auto_free char *text = result_text(rehearsal, waits);
	struct str *to = &out->text;

	out_text(to, rehearsal->device->name);
	str_add(to, ": ");
	out_colour(out, to,
		   waits                 ? COLOUR_YELLOW
		   : rehearsal->accepted ? COLOUR_GREEN
					 : COLOUR_RED);
	out_text(to, text);
	out_colour(out, to, COLOUR_NONE);
	str_add_char(to, '\n');
}

/* What to do about the rest of its group: claim all of it, or, where that would be refused, its
 * functions together. */
static void add_group(const struct rehearsal *rehearsal, struct out *out)
{
	const char *whose = rehearsal->user ? " --for " : "";
	const char *user = rehearsal->user ? rehearsal->user : "";
	const char *name = rehearsal->device->name;
	auto_free char *why = rehearsal->whole ? advice_without_group(rehearsal->whole) : NULL;
	auto_free char *line = NULL;

	if (why) {
		line = xasprintf("its whole IOMMU group cannot be claimed: %s", why);
		add_line(out, line);
		free(line);
		line = !rehearsal->rest[0] ? NULL
		       : rehearsal->together
			       ? xasprintf("claim its functions together: kubectl hostdev claim "
					   "%s %s%s%s",
					   name, rehearsal->rest, whose, user)
			       : xasprintf("to claim its functions together, ask an administrator "
					   "for the verb claim on %s, which you do not have",
					   rehearsal->rest);
	} else {
		line = xasprintf("claim its whole IOMMU group: kubectl hostdev claim %s "
				 "--include-group%s%s",
				 name, whose, user);
	}
	if (line)
		add_line(out, line);
}

static void print_text(const struct rehearsal *rehearsal, const struct command_settings *settings,
		       struct out *out)
{
	const struct cluster_device *device = rehearsal->device;
	bool good = rehearsal->accepted && !settings->release;
	bool waits =
		rehearsal->pod ||
		(good && !rehearsal->unchanged &&
		 (device->verdict.state == STATE_REFUSED || device->fault || rehearsal->shared));

	add_result(rehearsal, waits, out);
	if (rehearsal->why)
		add_line(out, rehearsal->why);
	if (rehearsal->pod)
		add_line(out, rehearsal->pod);
	add_warnings(rehearsal, out);
	if (good && !rehearsal->unchanged)
		add_usb_below(device, out);
	/* The device's condition says of any group that it must be claimed as a whole. */
	if (good && (rehearsal->shared || strcmp(device->verdict.reason, "GroupShared") != 0))
		add_verdict(device, !rehearsal->whole, out);
	if (rehearsal->shared)
		add_group(rehearsal, out);
	if (rehearsal->left) {
		auto_free char *line = xasprintf("pending after that (GroupShared), because its "
						 "IOMMU group is no longer claimed as a whole: %s",
						 rehearsal->left);

		add_line(out, line);
	}
	/* It has nothing to say of the release of a USB device. */
	if (rehearsal->accepted && !rehearsal->unchanged && !rehearsal->warnings[0] &&
	    (good || device->type != DEVICE_USB))
		add_line(out, "no webhook has checked it: where hostdev-controller's webhook is "
			      "installed, it says what would be done, and may refuse");
}

static json_t *json_of(const struct rehearsal *rehearsal)
{
	json_t *json = json_pack("{so}", "device", device_json(rehearsal->device));
	json_t *warnings = json_array();
	const char *line = rehearsal->warnings;

	while (*line) {
		size_t len = strcspn(line, "\n");

		json_array_append_new(warnings, json_stringn(line, len));
		line += len + (line[len] == '\n');
	}
	if (!rehearsal->unknown)
		json_object_set_new(json, "accepted", json_boolean(rehearsal->accepted));
	json_object_set_new(json, "warnings", warnings);
	if (rehearsal->why || rehearsal->pod)
		json_object_set_new(json, "message",
				    json_string(rehearsal->why ? rehearsal->why : rehearsal->pod));
	else if (rehearsal->unchanged)
		json_object_set_new(json, "message", json_string(unchanged));
	return json;
}

static void print_all(struct command_run *run, const struct rehearsal *list, size_t len)
{
	auto_json json_t *plans = json_array();
	auto_json json_t *all = json_pack("{sO}", "plans", plans);
	bool text = run->out.format == OUT_TABLE;

	for (size_t i = 0; i < len; i++) {
		if (text)
			print_text(&list[i], &run->settings, &run->out);
		else
			json_array_append_new(plans, json_of(&list[i]));
	}
	if (!text)
		out_json(&run->out, all);
}

static int run_plan(struct command_run *run)
{
	auto_targets struct targets targets = { 0 };
	int status = targets_find(run, 0, &targets);
	struct rehearsal *list;

	if (status != COMMAND_OK)
		return status;
	command_tell_missing(&targets.missing, CLUSTER_SET(CLUSTER_NODE));
	list = xcalloc(targets.len + 1, sizeof(*list));
	for (size_t i = 0; i < targets.len; i++) {
		list[i].device = targets.devices[i];
		list[i].user = run->settings.claim_user;
		list[i].rest = targets_group_rest(&targets, list[i].device);
		rehearse(run, &list[i]);
		rehearse_group(run, &list[i]);
		if (list[i].accepted && waits_for_pods(list[i].device, run->settings.release))
			list[i].pod = find_pod(&targets, list[i].device, run->settings.release);
		if (list[i].accepted && run->settings.release)
			list[i].left = left_by_release(&targets, list[i].device);
		if (!list[i].accepted)
			status = COMMAND_FAILED;
	}
	print_all(run, list, targets.len);
	for (size_t i = 0; i < targets.len; i++) {
		free(list[i].left);
		free(list[i].pod);
		free(list[i].whole);
		free(list[i].rest);
		free(list[i].why);
		free(list[i].warnings);
	}
	free(list);
	return out_flush(&run->out) ? status : COMMAND_FAILED;
}

static const struct option_row rows[] = {
	{ .name = "release",
	  .type = OPTION_BOOL,
	  COMMAND_AT(release),
	  .group = "Flags",
	  .help = "Show what releasing the device would do." },
	COMMAND_CLAIM_ROWS,
	COMMAND_OUTPUT_ROW(out_formats_narrow),
	COMMAND_CLUSTER_ROWS,
};

static const struct options_prose prose = {
	.program = "kubectl hostdev plan",
	.summary = "shows what claiming or releasing a device would do",
	.synopsis = "kubectl hostdev plan DEVICE... [--release] [FLAG]...",
	.description =
		"Sends the claim of each DEVICE to the API server as a dry run, and prints what "
		"the webhook would do or refuse. For a device that shares its IOMMU group with "
		"others it prints the command that claims them all. Nothing is changed.",
	.exit_status =
		"0 when it would be accepted, also where it says \"would wait\" because the claim, "
		"or the release, is then pending until what the lines below name ends, or nothing "
		"would change; 1 when it would be refused or could not be checked, also where a "
		"release \"would wait\" because the API server refuses it as long as a pod has the "
		"device; 2 for a wrong flag.",
	.examples = " kubectl hostdev plan vm1-000001000\n"
		    " kubectl hostdev plan vm1/01:00.0 --release",
};

const struct command plan_command = {
	.word = "plan",
	.summary = "Show what claiming or releasing a device would do, without doing it",
	COMMAND_LINE(prose, rows),
	COMMAND_DEVICES(COMMAND_WORDS_MAX, COMPLETE_DEVICES),
	.run = run_plan,
};

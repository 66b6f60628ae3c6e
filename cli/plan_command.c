#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_map.h"
#include "api/meta.h"
#include "api/pcidevice.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/ask/claims.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/model/cluster.h"
#include "cli/show/device_json.h"
#include "cli/target.h"

static const char unchanged[] = "already claimed, nothing would change";

/* The answer of the API server and its webhooks to a dry run: a claim, or a release, of one
 * device. */
struct rehearsal {
	const struct cluster_device *device;
	bool accepted;
	bool unchanged; /* accepted: the caller already has the same claim */
	bool unknown;   /* no answer, so it could not be checked */
	bool waits;     /* a release of a device that a pod has */
	bool shared;    /* other functions of its group are neither claimed nor in this plan */
	char *why;      /* not accepted: the cause */
	char *warnings; /* one on each line */
};

static bool is_planned(const struct targets *targets, const struct cluster_device *device)
{
	for (size_t i = 0; i < targets->len; i++) {
		if (targets->devices[i] == device)
			return true;
	}
	return false;
}

/* As in the agent: bridges and functions without a driver do not make a group shared. */
static bool is_group_shared(const struct targets *targets, const struct cluster_device *device)
{
	const struct pcidevice *pci = device->type == DEVICE_PCI ? device->object : NULL;

	if (!pci || strcmp(device->verdict.reason, "GroupShared") != 0)
		return false;
	for (size_t i = 0; i < pci->status.iommu_group_members.len; i++) {
		const struct cluster_device *other = cluster_device_at(
			targets->cluster, device->node, pci->status.iommu_group_members.items[i]);

		if (other != device && (!other || (other->driver[0] && !other->claim &&
						   strncmp(other->class_id, "0604", 4) != 0 &&
						   !is_planned(targets, other))))
			return true;
	}
	return false;
}

/* The device is already claimed. Is the claim the caller's, and would the flags change it? */
static int rehearse_change(struct command_run *run, struct rehearsal *rehearsal,
			   const struct claim_spec *spec, struct session_answer *answer,
			   struct err *err)
{
	const struct cluster_device *device = rehearsal->device;
	auto_free char *caller = spec->user ? xstrdup(spec->user) : claims_caller(run->session);
	bool mine =
		device->claim && !(device->user[0] && caller && strcmp(device->user, caller) != 0);
	auto_free char *text = NULL;
	enum claim_change change = CLAIM_SAME;
	struct claim_target target;
	int r = -EEXIST;

	if (device->claim && device->claim->deletion_timestamp)
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
	/* The webhook's warnings are about a new claim, not about the existing one. */
	rehearsal->warnings =
		xstrdup(answer.warnings && !rehearsal->unchanged ? answer.warnings : "");
	if (r == -ENOENT && s->release)
		rehearsal->why = xstrdup("it is not claimed");
	else if (r < 0 && !rehearsal->why)
		rehearsal->why = claims_refusal(&answer, &err);
}

static void add_warnings(const struct rehearsal *rehearsal, struct str *to)
{
	const char *line = rehearsal->warnings;

	while (*line) {
		size_t len = strcspn(line, "\n");

		str_addf(to, "  %.*s\n", (int)len, line);
		line += len + (line[len] == '\n');
	}
}

/* A verdict with a time comes from a condition that the agent wrote. */
static void add_verdict(const struct state_verdict *verdict, struct str *to)
{
	if (!verdict->reason[0])
		return;
	str_add(to, "  ");
	if (verdict->since[0]) {
		str_add(to, "its node says: ");
		out_text(to, verdict->reason);
		str_add(to, verdict->message[0] ? ": " : "");
	}
	out_text(to, verdict->message);
	str_add_char(to, '\n');
}

/* With a USB controller, the node loses what is plugged into it. */
static void add_usb_below(const struct cluster_device *device, struct str *to)
{
	auto_free char *below = device->type == DEVICE_PCI ? device_usb_below(device) : xstrdup("");

	if (!below[0])
		return;
	str_add(to, "  its USB devices disappear from the node and go with it: ");
	out_text(to, below);
	str_add_char(to, '\n');
}

static const char *result_text(const struct rehearsal *rehearsal, bool waits)
{
	if (rehearsal->unchanged)
		return unchanged;
	if (waits)
		return "would be accepted, but not carried out now";
	if (rehearsal->accepted)
		return "would be accepted";
	if (rehearsal->unknown)
		return "could not be checked";
	return rehearsal->waits ? "would wait" : "would be refused";
}

/* A claim of a function whose group is claimed already is carried out. */
static bool is_refused(const struct cluster_device *device)
{
	return device->verdict.state == STATE_REFUSED && device->conflict != CONFLICT_GROUP;
}

static void print_text(const struct rehearsal *rehearsal, bool release, struct out *out)
{
	const struct cluster_device *device = rehearsal->device;
	struct str *to = &out->text;
	bool good = rehearsal->accepted;
	bool waits = good && !release && !rehearsal->unchanged &&
		     (is_refused(device) || device->fault || rehearsal->shared);

	out_text(to, device->name);
	str_add(to, ": ");
	out_colour(out, to, waits ? COLOUR_YELLOW : good ? COLOUR_GREEN : COLOUR_RED);
	str_add(to, result_text(rehearsal, waits));
	out_colour(out, to, COLOUR_NONE);
	str_add_char(to, '\n');
	if (rehearsal->why) {
		str_add(to, "  ");
		out_text(to, rehearsal->why);
		str_add_char(to, '\n');
	}
	add_warnings(rehearsal, to);
	if (good && !release && !rehearsal->unchanged)
		add_usb_below(device, to);
	if (good && !release)
		add_verdict(&device->verdict, to);
	if (rehearsal->shared) {
		str_add(to, "  claim its whole IOMMU group: kubectl hostdev claim ");
		out_text(to, device->name);
		str_add(to, " --include-group\n");
	}
	if (good && !rehearsal->unchanged && !rehearsal->warnings[0])
		str_add(to,
			"  no webhook has checked it: where hostdev-controller's webhook is installed, "
			"it says what would be done, and may refuse\n");
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
	if (rehearsal->why)
		json_object_set_new(json, "message", json_string(rehearsal->why));
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
			print_text(&list[i], run->settings.release, &run->out);
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
	command_tell_nodes(&targets.missing);
	list = xcalloc(targets.len + 1, sizeof(*list));
	for (size_t i = 0; i < targets.len; i++) {
		list[i].device = targets.devices[i];
		rehearse(run, &list[i]);
		list[i].shared = list[i].accepted && !run->settings.release &&
				 !run->settings.include_group &&
				 is_group_shared(&targets, list[i].device);
		if (!list[i].accepted)
			status = COMMAND_FAILED;
	}
	print_all(run, list, targets.len);
	for (size_t i = 0; i < targets.len; i++) {
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
		"Sends the claim of each DEVICE to the API server as a dry run, and prints what the "
		"webhook would do or refuse. For a device that shares its IOMMU group with "
		"others it prints the command that claims them all. Nothing is changed.",
	.exit_status =
		"0 when it would be accepted, or nothing would change; 1 when not, or when that could "
		"not be checked; 2 for a wrong flag.",
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

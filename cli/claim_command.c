#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_map.h"
#include "api/meta.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "cli/claim_pick.h"
#include "cli/claim_wait.h"
#include "cli/client/claims.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/model/cluster.h"
#include "cli/print/advice.h"
#include "cli/print/out_json.h"
#include "cli/target.h"

#define FOR_EVER_MS UINT64_C(3153600000000) /* a hundred years */

/* --- the results ------------------------------------------------------------------------------ */

struct claim_report {
	enum claim_goal goal;
	enum command_dry_run dry_run;
	bool waited; /* only claims that have reached the goal are printed */
	const struct claim_wait *waits;
	size_t len;
};

static const char *deed(const struct claim_report *report, const struct claim_wait *wait)
{
	static const char *const existed[] = {
		[DRY_RUN_NONE] = "unchanged",
		[DRY_RUN_SERVER] = "unchanged (server dry run)",
	};
	static const char *const created[] = {
		[DRY_RUN_NONE] = "created",
		[DRY_RUN_CLIENT] = "created (dry run)",
		[DRY_RUN_SERVER] = "created (server dry run)",
	};
	static const char *const deleted[] = {
		[DRY_RUN_NONE] = "deleted",
		[DRY_RUN_CLIENT] = "deleted (dry run)",
		[DRY_RUN_SERVER] = "deleted (server dry run)",
	};
	static const char *const patched[] = {
		[DRY_RUN_NONE] = "patched",
		[DRY_RUN_SERVER] = "patched (server dry run)",
	};

	if (report->goal == CLAIM_READY && wait->existed && !report->waited)
		return wait->patched ? patched[report->dry_run] : existed[report->dry_run];
	if (report->goal == CLAIM_READY)
		return report->waited ? "ready" : created[report->dry_run];
	return report->waited ? "released" : deleted[report->dry_run];
}

static void print_lines(const struct claim_report *report, struct out *out)
{
	for (size_t i = 0; i < report->len; i++) {
		const struct claim_wait *wait = &report->waits[i];

		if (wait->skip || (report->waited && !wait->done))
			continue;
		out_kind_name(&out->text, cluster_kind(claim_kind(wait->target.type)),
			      wait->target.name);
		if (out->format != OUT_NAME)
			str_addf(&out->text, " %s", deed(report, wait));
		str_add_char(&out->text, '\n');
	}
}

/* The objects as the API server returned them, without the fields that kubectl omits: one
 * object, or a list. */
static void print_objects(const struct claim_report *report, struct out *out)
{
	json_t *items = json_array();

	for (size_t i = 0; i < report->len; i++) {
		const char *text = report->waits[i].object;
		json_t *object = NULL;

		if (!report->waits[i].skip && text &&
		    json_map_load(text, strlen(text), &object, NULL) == 0) {
			(void)json_object_del(json_object_get(object, "metadata"), "managedFields");
			json_array_append_new(items, object);
		}
	}
	if (report->len == 1 && json_array_size(items) == 1) {
		out_json(out, json_array_get(items, 0));
		json_decref(items);
	} else {
		out_json_list(out, items);
	}
}

/* Print lines, names or objects, as @out says. False: writing failed, which has been reported. */
static bool claim_report_print(const struct claim_report *report, struct out *out)
{
	if (out_is_json(out))
		print_objects(report, out);
	else
		print_lines(report, out);
	return out_flush(out);
}

/* --- the commands ----------------------------------------------------------------------------- */

/* The state of one run of `claim` or `release`, which share this code. */
struct errand {
	struct command_run *run;
	enum claim_goal goal;
	enum command_dry_run dry_run;
	const struct targets *targets; /* NULL with --resource */
	struct claim_wait *waits;      /* of each target */
	size_t len;
	int status;
};

static bool is_waiting(const struct errand *errand)
{
	const struct command_settings *s = &errand->run->settings;

	return s->wait && !s->no_wait && errand->dry_run == DRY_RUN_NONE;
}

static void give_up(struct errand *errand, struct claim_wait *wait, int status, const char *why)
{
	auto_str struct str text = STR_INIT;

	out_text(&text, wait->target.name);
	str_addf(&text, ": %s", why);
	command_say(errand->run, str_cstr(&text));
	errand->status = claim_worse(errand->status, status);
	wait->skip = true;
}

static void refuse(struct errand *errand, struct claim_wait *wait, const char *why)
{
	give_up(errand, wait, COMMAND_FAILED, why);
}

/* Did the request fail because --timeout has passed? Then print that. */
static bool was_late(struct errand *errand, struct claim_wait *wait,
		     const struct session_answer *answer, const struct err *err)
{
	static const char *const unknown[] = {
		[CLAIM_READY] = "no answer within --timeout: see kubectl hostdev who for whether "
				"it is claimed",
		[CLAIM_GONE] = "no answer within --timeout: see kubectl hostdev who for whether "
			       "its claim is deleted",
	};
	auto_free char *unchecked = claims_unchecked(answer) ? claims_refusal(answer, err) : NULL;

	if ((err->code != -ETIMEDOUT && !unchecked) || !session_late(errand->run->session))
		return false;
	give_up(errand, wait, COMMAND_LATE, unchecked ? unchecked : unknown[errand->goal]);
	return true;
}

/* --- claim ------------------------------------------------------------------------------------ */

/* Add to the caller's own claim what the flags ask for and the claim does not have. */
static void adapt_claim(struct errand *errand, struct claim_wait *wait,
			const struct cluster_device *device, const struct claim_spec *spec)
{
	auto_answer struct session_answer answer = { 0 };
	auto_free char *text = NULL;
	auto_free char *why = NULL;
	struct err err = { 0 };
	int r = 0;

	switch (claim_compare(device, spec, &text)) {
	case CLAIM_SAME:
		command_note("%s: already claimed", wait->target.name);
		return;
	case CLAIM_OTHER:
		refuse(errand, wait, text);
		return;
	case CLAIM_PATCH:
		break;
	}
	command_note("%s: already claimed; the flags are added to the claim", wait->target.name);
	r = claim_patch(errand->run->session, &wait->target, text,
			errand->dry_run == DRY_RUN_SERVER, &answer, &err);
	claims_warn(&answer);
	if (r == 0) {
		wait->patched = true;
		claim_wait_take(wait, &answer);
	} else if (!was_late(errand, wait, &answer, &err)) {
		why = claims_refusal(&answer, &err);
		refuse(errand, wait, why);
	}
}

/* The claim exists already. If it is the caller's own, go on as with a new one; otherwise
 * refuse. */
static void meet_claim(struct errand *errand, struct claim_wait *wait)
{
	auto_free char *why = NULL;
	auto_free char *kept = NULL;
	auto_answer struct session_answer answer = { 0 };
	struct cluster *cluster = cluster_new();
	enum cluster_kind kind = claim_kind(wait->target.type);
	const struct cluster_device *device;
	struct claim_spec spec;
	struct err err = { 0 };

	if (claim_read(errand->run->session, &wait->target, &answer, &err) < 0 ||
	    lists_read_one(errand->run->session, kind, wait->target.name, cluster, &err) < 0) {
		if (!was_late(errand, wait, &answer, &err))
			refuse(errand, wait, err.msg);
		cluster_free(cluster);
		return;
	}
	device = cluster_device(cluster, wait->target.type, wait->target.name);
	command_claim(&errand->run->settings, &spec);
	kept = advice_kept(device->claim);
	if (device->claim->deletion_timestamp)
		refuse(errand, wait,
		       kept ? kept : "it is being released; claim it again when that is done");
	else if (!claims_mine(errand->run->session, device, &spec)) {
		why = xasprintf("already claimed, by '%s' since %s", device->user,
				device->claim->creation_timestamp);
		refuse(errand, wait, why);
	} else {
		wait->existed = true;
		claim_wait_take(wait, &answer);
		adapt_claim(errand, wait, device, &spec);
	}
	cluster_free(cluster);
}

static void create(struct errand *errand, struct claim_wait *wait)
{
	struct claim_spec spec;
	auto_answer struct session_answer answer = { 0 };
	auto_free char *why = NULL;
	struct err err = { 0 };
	int r;

	command_claim(&errand->run->settings, &spec);
	if (errand->dry_run == DRY_RUN_CLIENT) {
		wait->object = claim_text(&wait->target, &spec);
		return;
	}
	r = claim_create(errand->run->session, &wait->target, &spec,
			 errand->dry_run == DRY_RUN_SERVER, &answer, &err);
	wait->rest =
		targets_group_rest(errand->targets, errand->targets->devices[wait - errand->waits]);
	if (!wait->rest)
		claims_forget_group(&answer);
	/* For a claim that exists, the webhook's warnings are about another one, with these flags
	 * alone. */
	if (r != -EEXIST)
		claims_warn(&answer);
	if (r == 0) {
		claim_wait_take(wait, &answer);
	} else if (r == -EEXIST) {
		meet_claim(errand, wait);
	} else if (!was_late(errand, wait, &answer, &err)) {
		why = claims_refusal(&answer, &err);
		refuse(errand, wait, why);
	}
}

/* --- release ---------------------------------------------------------------------------------- */

static void delete_claim(struct errand *errand, struct claim_wait *wait)
{
	auto_answer struct session_answer before = { 0 };
	auto_answer struct session_answer answer = { 0 };
	auto_free char *why = NULL;
	struct err err = { 0 };
	int r = claim_read(errand->run->session, &wait->target, &before, &err);

	if (r == 0)
		claim_wait_take(wait, &before);
	if (is_waiting(errand))
		r = claim_delete_if_allowed(errand->run, wait, &answer, &err);
	else if (errand->dry_run != DRY_RUN_CLIENT)
		r = claim_delete(errand->run->session, &wait->target,
				 errand->dry_run == DRY_RUN_SERVER, &answer, &err);
	claims_warn(&answer);
	if (r == -ENOENT) {
		refuse(errand, wait, "it is not claimed");
	} else if (r < 0 && answer.status == 409 && is_waiting(errand)) {
		wait->denied = true;
	} else if (r < 0 && !was_late(errand, wait, &answer, &err)) {
		why = claims_refusal(&answer, &err);
		refuse(errand, wait, why);
	}
}

/* --- both ------------------------------------------------------------------------------------- */

/* The claim is created or deleted nevertheless: the agent carries it out when it is back. */
static void warn_of_node(const struct cluster_device *device)
{
	auto_free char *advice =
		device->fault ? advice_about(device->fault->reason, device->node, device->name, "")
			      : NULL;
	auto_free char *fault = NULL;

	if (!device->fault)
		return;
	fault = node_fault_sentence(device->fault, device->node, timefmt_wall_ms());
	command_note("%s: %s: nothing is done until %s. %s", device->name, fault,
		     strcmp(device->fault->reason, "AgentNotRunning") == 0 ? "one runs"
									   : "the node recovers",
		     advice ? advice : "");
}

static void print_errand(struct errand *errand, bool waited)
{
	const struct claim_report report = {
		.goal = errand->goal,
		.dry_run = errand->dry_run,
		.waited = waited,
		.waits = errand->waits,
		.len = errand->len,
	};

	if (!claim_report_print(&report, &errand->run->out))
		errand->status = COMMAND_FAILED;
}

static void carry_out(struct errand *errand)
{
	if (is_waiting(errand))
		session_catch_signals(errand->run->session);
	for (size_t i = 0; i < errand->len; i++) {
		if (errand->waits[i].skip)
			continue;
		if (errand->goal == CLAIM_READY)
			create(errand, &errand->waits[i]);
		else
			delete_claim(errand, &errand->waits[i]);
	}
}

/* Wait, print the results, and release the list. Returns the exit status. */
static int end_errand(struct errand *errand)
{
	bool waits = is_waiting(errand);
	int status;

	if (waits) {
		status = claim_wait_all(errand->run, errand->waits, errand->len, errand->goal);
		errand->status = claim_worse(errand->status, status);
	}
	print_errand(errand, waits);
	for (size_t i = 0; i < errand->len; i++)
		claim_wait_done(&errand->waits[i]);
	free(errand->waits);
	return errand->status;
}

static bool begin_errand(struct errand *errand, struct command_run *run, enum claim_goal goal)
{
	*errand = (struct errand){
		.run = run,
		.goal = goal,
		.dry_run = (enum command_dry_run)run->settings.dry_run,
	};
	if (!command_session(run))
		return false;
	/* The time counts from the first request, so that an API server that hangs does not
	 * extend it. */
	if (is_waiting(errand))
		session_set_end(run->session,
				run->settings.timeout_ms ? run->settings.timeout_ms : FOR_EVER_MS);
	return true;
}

static int run_errand(struct command_run *run, enum claim_goal goal)
{
	auto_targets struct targets targets = { 0 };
	struct errand errand;
	struct claim_spec spec;
	const char *misfit;
	int status;

	if (!begin_errand(&errand, run, goal))
		return COMMAND_FAILED;
	status = targets_find(run, 0, &targets);
	if (status == COMMAND_LATE)
		command_note("Timed out (--timeout): nothing was %s.",
			     goal == CLAIM_READY ? "claimed" : "released");
	if (status != COMMAND_OK)
		return status;
	command_tell_missing(&targets.missing, CLUSTER_SET(CLUSTER_NODE));
	command_claim(&run->settings, &spec);
	errand.targets = &targets;
	errand.len = targets.len;
	errand.waits = xcalloc(targets.len + 1, sizeof(*errand.waits));
	for (size_t i = 0; i < targets.len; i++) {
		claim_target_init(&errand.waits[i].target, targets.devices[i]);
		warn_of_node(targets.devices[i]);
		misfit = claim_misfit(targets.devices[i]->type, &spec);
		if (misfit)
			refuse(&errand, &errand.waits[i], misfit);
	}
	carry_out(&errand);
	return end_errand(&errand);
}

/* claim --resource */
static int run_pick(struct command_run *run)
{
	struct errand errand;
	int status;

	if (!begin_errand(&errand, run, CLAIM_READY))
		return COMMAND_FAILED;
	status = claim_pick(run, &errand.waits, &errand.len);
	return status == COMMAND_OK ? end_errand(&errand) : status;
}

/* The flags that choose devices of a resource go together, and without a DEVICE. */
static const char *lone_flag(const struct command_settings *s)
{
	if (s->count > 0)
		return "--count";
	if (s->node)
		return "--node";
	if (s->any_node)
		return "--any-node";
	return s->selector ? "--selector" : NULL;
}

static int run_claim(struct command_run *run)
{
	struct command_settings *s = &run->settings;

	if (s->resource && run->words_len > 0)
		return command_misused(run,
				       "give either DEVICE or --resource, not both; see --help");
	if (!s->resource && run->words_len == 0)
		return command_misused(run, "DEVICE or --resource is missing; see --help");
	if (!s->resource && lone_flag(s))
		return command_misused(run, "%s goes with --resource; see --help", lone_flag(s));
	if (!s->resource)
		return run_errand(run, CLAIM_READY);
	if (!s->resource[0])
		return command_misused(run, "--resource is empty; kubectl hostdev top lists them");
	if (s->node && s->any_node)
		return command_misused(run, "give either --node or --any-node, not both");
	return run_pick(run);
}

static int run_release(struct command_run *run)
{
	return run_errand(run, CLAIM_GONE);
}

static const char *const dry_runs[] = { "none", "client", "server", NULL };

/* clang-format off */
#define WAIT_ROWS(until_) \
	{ .name = "wait", .type = OPTION_BOOL, COMMAND_AT(wait), .fallback = "true", \
	  .group = "Flags", .argument = "BOOL", .bare = "true", \
	  .help = "Wait until " until_ ", with progress on standard error. --wait=false does not " \
		  "wait." }, \
	{ .name = "no-wait", .type = OPTION_BOOL, COMMAND_AT(no_wait), \
	  .help = "The same as --wait=false." }, \
	{ .name = "timeout", .type = OPTION_DURATION, COMMAND_AT(timeout_ms), .fallback = "1m", \
	  .argument = "TIME", \
	  .help = "How long to wait; 0 waits forever. After that, the exit status is 3, and " \
		  "nothing is undone." }, \
	{ .name = "dry-run", .type = OPTION_ENUM, COMMAND_AT(dry_run), .choices = dry_runs, \
	  .bare = "server", .argument = "STRATEGY", \
	  .help = "Change nothing. client prints the objects that would be sent to the API " \
		  "server. server sends them as a dry run and prints the webhook's warnings. The " \
		  "flag alone means server." }
/* clang-format on */

static const struct option_row claim_rows[] = {
	{ .name = "resource",
	  .type = OPTION_STRING,
	  COMMAND_AT(resource),
	  .argument = "NAME",
	  .group = "Devices",
	  .help = "Claim free devices with this resource name (status.resourceName), all or none, "
		  "and print which." },
	{ .name = "count",
	  .type = OPTION_U64,
	  COMMAND_AT(count),
	  .min = 1,
	  .max = COMMAND_WORDS_MAX,
	  .argument = "NUMBER",
	  .help = "How many; without it, 1. All are on one node, because a pod can use only "
		  "devices of its node." },
	{ .name = "node",
	  .type = OPTION_STRING,
	  COMMAND_AT(node),
	  .argument = "NAME",
	  .help = "Only devices of this node." },
	{ .name = "any-node",
	  .type = OPTION_BOOL,
	  COMMAND_AT(any_node),
	  .help = "Devices of several nodes, if no node has enough." },
	{ .name = "selector",
	  .letter = 'l',
	  .type = OPTION_STRING,
	  COMMAND_AT(selector),
	  .argument = "SELECTOR",
	  .help = "Only devices with these labels, in the syntax of kubectl get -l: "
		  "\"a=b,c!=d\"." },
	WAIT_ROWS("the device is ready"),
	COMMAND_CLAIM_ROWS,
	COMMAND_OUTPUT_ROW(out_formats),
	COMMAND_CLUSTER_ROWS,
};

static const struct options_prose claim_prose = {
	.program = "kubectl hostdev claim",
	.summary = "claims devices",
	.synopsis = "kubectl hostdev claim DEVICE... [FLAG]...\n\n"
		    "kubectl hostdev claim --resource NAME [--count NUMBER] [FLAG]...",
	.description =
		"Creates a PCIDeviceClaim or USBDeviceClaim for each DEVICE and waits until it is "
		"Ready, so that pods and virtual machines can use the device. Progress goes to "
		"standard error. If the webhook does not answer, the command tries again. Ctrl-C "
		"ends the wait; the claim stays.\n"
		"\n"
		"With --resource, the command picks the devices: those that can be claimed now and "
		"that you may claim, on one node and if possible on one NUMA node. Either all "
		"claims are created or none: if one fails, another device is tried, and if there "
		"are too few, the command releases what it has claimed and prints why. Each run "
		"claims new devices.\n"
		"\n"
		"Functions that share an IOMMU group are claimed together: name them all, or use "
		"--include-group. --resource picks such a function only with --include-group.\n"
		"\n"
		"If you have already claimed the device, the command waits for that claim, and "
		"adds --include-group and --release-without-driver to it. It is an error if "
		"--driver or --for differs from the claim, because a claim cannot change these.",
	.exit_status =
		"0 when all are ready (with --wait=false: created); 1 when one is refused or not "
		"found; 2 for a wrong flag; 3 when not ready within --timeout; 130 when "
		"interrupted.",
	.examples = " kubectl hostdev claim vm1-000001000\n"
		    " kubectl hostdev claim vm1/01:00.0 --dry-run=server\n"
		    " kubectl hostdev claim vm1/1-2.3 --timeout 10s -o yaml\n"
		    " kubectl hostdev claim --resource intel.com/X710 --count 2",
};

const struct command claim_command = {
	.word = "claim",
	.summary = "Claim devices, and wait until they are ready",
	COMMAND_LINE(claim_prose, claim_rows),
	.words_max = COMMAND_WORDS_MAX,
	.completes = COMPLETE_CLAIMABLE,
	.run = run_claim,
};

static const struct option_row release_rows[] = {
	WAIT_ROWS("the device is released"),
	COMMAND_OUTPUT_ROW(out_formats),
	COMMAND_CLUSTER_ROWS,
};

static const struct options_prose release_prose = {
	.program = "kubectl hostdev release",
	.summary = "releases claimed devices",
	.synopsis = "kubectl hostdev release DEVICE... [FLAG]...",
	.description =
		"Deletes the claim of each DEVICE and waits until the device is back on its former "
		"driver, and its PCIDevice shows that. While a pod or a process has the device, "
		"the command waits and names it. The webhook refuses to delete the claim of a "
		"device that a pod has: the command tries again until the deletion is accepted, "
		"and also if the webhook does not answer. With --wait=false, the refusal is an "
		"error. Ctrl-C ends the wait; a deleted claim stays deleted.",
	.exit_status =
		"0 when all are released (with --wait=false: their claims are deleted); 1 when one "
		"is refused or not claimed; 2 for a wrong flag; 3 when not released within "
		"--timeout; 130 when interrupted.",
	.examples = " kubectl hostdev release vm1-000001000\n"
		    " kubectl hostdev release vm1/01:00.0 vm1/01:00.1 --no-wait",
};

const struct command release_command = {
	.word = "release",
	.summary = "Release claimed devices, and wait until they are released",
	COMMAND_LINE(release_prose, release_rows),
	COMMAND_DEVICES(COMMAND_WORDS_MAX, COMPLETE_CLAIMED),
	.run = run_release,
};

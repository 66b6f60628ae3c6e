#include "agent/plan.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "agent/claim/rehearsal.h"
#include "agent/print.h"
#include "api/json_map.h"
#include "api/names.h"
#include "api/pcideviceclaim.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/loop.h"

/* One run of the command. */
struct plan {
	const struct plan_options *options;
	uv_loop_t loop;
	struct inventory *inventory;
	struct binder *binder;
	struct str text;
	bool refused;           /* something would not be done              */
	struct json_strs moved; /* names of the devices that were printed */

	bool waiting; /* for what the loop brings */
	struct err err;
};

static void wait_for_loop(struct plan *plan)
{
	plan->waiting = true;
	while (plan->waiting && uv_run(&plan->loop, UV_RUN_ONCE))
		;
}

static void on_scanned(void *arg, struct inventory *inventory, const struct err *err)
{
	struct plan *plan = arg;

	plan->waiting = false;
	plan->inventory = inventory;
	if (!inventory)
		plan->err = *err;
}

static int scan_devices(struct plan *plan, struct err *err)
{
	struct scan *scan = scan_new(&plan->loop, &plan->options->scan, on_scanned, plan);

	scan_start(scan);
	wait_for_loop(plan);
	scan_free(scan);
	if (plan->inventory)
		return 0;
	*err = plan->err;
	return err->code;
}

/* What a line of the helper says to a person; nothing for lines that are for programs only. */
static void print_line(struct plan *plan, const char *text)
{
	auto_json json_t *line = NULL;
	const char *kind;

	if (json_map_load(text, strlen(text), &line, NULL) < 0)
		return;
	kind = json_get_text(line, "kind");
	if (strcmp(kind, "step") == 0)
		str_addf(&plan->text, "  step     %-14s %s\n", json_get_text(line, "step"),
			 json_get_text(line, "address"));
	else if (strcmp(kind, "holder") == 0)
		str_addf(&plan->text, "  holder   %-14s %s\n", json_get_text(line, "address"),
			 json_get_text(line, "detail"));
}

static void on_planned(void *arg, const struct binder_outcome *outcome)
{
	const struct task_outcome *task = &outcome->task;
	struct plan *plan = arg;

	plan->waiting = false;
	for (size_t i = 0; i < outcome->lines.len; i++)
		print_line(plan, outcome->lines.items[i]);
	if (task->result == TASK_DONE)
		return;
	plan->refused = true;
	str_addf(&plan->text, "  refused  %s: %s\n", task->reason ? task->reason : "",
		 task->message);
}

static void print_job(struct plan *plan, const struct binder_job *job)
{
	for (size_t i = 0; i < job->len; i++) {
		const struct binder_function *f = &job->items[i];
		const char *node = plan->options->scan.inventory.node_name;
		auto_free char *name = names_pcidevice(node, f->address);
		const char *native = f->driverless ? ""
				     : f->native   ? f->native
						   : "whatever the kernel picks";

		json_strs_add(&plan->moved, name);
		if (job->verb == BINDER_BIND)
			str_addf(&plan->text, "  bind     %-14s to %s; goes back to %s\n",
				 f->address, f->driver, *native ? native : "no driver");
		else
			str_addf(&plan->text, "  release  %-14s from %s to %s\n", f->address,
				 f->driver, *native ? native : "no driver");
	}
}

static void ask_helper(struct plan *plan, struct binder_job *job)
{
	bool bind = job->verb == BINDER_BIND;

	print_job(plan, job);
	job->verb = bind ? BINDER_PLAN_BIND : BINDER_PLAN_RELEASE;
	binder_start(plan->binder, job, on_planned, plan);
	wait_for_loop(plan);
}

/* The claim would rest: why, is in its conditions. */
static void print_rest(struct plan *plan, const struct pcideviceclaim *claim)
{
	const struct api_condition *ready = api_conditions_find(&claim->status.conditions, "Ready");

	if (ready && strcmp(ready->status, "True") == 0) {
		str_addf(&plan->text, "  nothing to do: %s\n", ready->message);
		return;
	}
	plan->refused = true;
	str_addf(&plan->text, "  refused  %s: %s\n", ready ? ready->reason : "Unknown",
		 ready && ready->message ? ready->message : "");
}

/* Was the device of the claim @name printed as one that another claim moves? */
static bool is_printed(const struct plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->moved.len; i++) {
		if (strcmp(plan->moved.items[i], name) == 0)
			return true;
	}
	return false;
}

static void print_claim(struct plan *plan, struct rehearsal *rehearsal, size_t at)
{
	const struct pcideviceclaim *claim;
	struct claim_decision decision;

	rehearsal_run(rehearsal, at, &claim, &decision);
	str_addf(&plan->text, "%s %s\n", plan->options->release ? "deletion of claim" : "claim",
		 claim->meta.name);
	if (is_printed(plan, claim->meta.name))
		str_add(&plan->text, "  moves along with the claim above\n");
	else if (decision.step == CLAIM_BIND || decision.step == CLAIM_RELEASE)
		ask_helper(plan, &decision.job);
	else if (decision.step == CLAIM_UNMARK)
		str_add(&plan->text, "  nothing to release\n");
	else
		print_rest(plan, claim);
	claim_decision_done(&decision);
}

/* A claim waits for the others of its group to have told their intent. */
static void tell_intent(struct rehearsal *rehearsal, size_t at)
{
	const struct pcideviceclaim *claim;
	struct claim_decision decision;

	rehearsal_run(rehearsal, at, &claim, &decision);
	claim_decision_done(&decision);
}

static int print_claims(struct plan *plan, char *const *words, struct err *err)
{
	const struct plan_options *options = plan->options;
	struct rehearsal *rehearsal = rehearsal_new(&(struct rehearsal_wish){
		.node_name = options->scan.inventory.node_name,
		.inventory = plan->inventory,
		.vfio_drivers = options->vfio_drivers,
		.driverless = options->driverless,
		.driver = options->driver,
		.include_group = options->include_group,
		.release = options->release,
	});
	int r = 0;

	for (size_t i = 0; words[i] && r == 0; i++)
		r = rehearsal_add(rehearsal, words[i], err);
	for (size_t i = 0; r == 0 && i < rehearsal_len(rehearsal); i++)
		tell_intent(rehearsal, i);
	for (size_t i = 0; r == 0 && i < rehearsal_len(rehearsal); i++)
		print_claim(plan, rehearsal, i);
	rehearsal_free(rehearsal);
	return r;
}

int plan_run(const struct plan_options *options, char *const *words, struct err *err)
{
	struct plan plan = { .options = options };
	int r = loop_open(&plan.loop, err);

	if (r < 0)
		return r;
	r = scan_devices(&plan, err);
	if (r == 0) {
		plan.binder = binder_new(&plan.loop, &options->binder, NULL, NULL);
		r = print_claims(&plan, words, err);
		binder_free(plan.binder);
	}
	loop_close(&plan.loop);
	inventory_free(plan.inventory);
	if (r == 0)
		r = print_text(&plan.text, err);
	json_strs_done(&plan.moved);
	str_done(&plan.text);
	return r < 0 ? r : plan.refused ? PLAN_REFUSED : 0;
}

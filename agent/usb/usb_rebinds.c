#include "agent/usb/usb_rebinds.h"

#include <stdlib.h>

#include "agent/node/this_node.h"
#include "agent/task/attempt.h"
#include "agent/task/task.h"
#include "agent/task/task_line.h"
#include "agent/usb/usb_node.h"
#include "api/json_values.h"
#include "api/override.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/clock.h"

/* Of one claim. */
struct rebind {
	struct usb_rebinds *rebinds;
	char *name;
	struct task *task; /* NULL: none runs, and none is stuck */
	struct attempt attempt;
};

struct usb_rebinds {
	const struct this_node *node;
	struct usb_rebinds_deps deps;
	struct map *items; /* name of the claim -> struct rebind */
};

static const struct attempt_backoff backoff = {
	.busy_ms = 1000,
	.first_ms = 1000,
	.max_ms = 64000,
};

static uint64_t now_ms(const struct usb_rebinds *rebinds)
{
	return clock_now_ms(rebinds->node->clock);
}

/* The claim is being deleted, so its generation does not matter. */
static struct attempt_object attempt_object(const struct usbdeviceclaim *claim)
{
	return (struct attempt_object){ .uid = str_or_empty(claim->meta.uid) };
}

static struct rebind *new_rebind(struct usb_rebinds *rebinds, const char *name)
{
	struct rebind *rebind = map_get(rebinds->items, name);

	if (rebind)
		return rebind;
	rebind = xcalloc(1, sizeof(*rebind));
	*rebind = (struct rebind){ .rebinds = rebinds, .name = xstrdup(name) };
	map_set(rebinds->items, name, rebind);
	return rebind;
}

static void rebind_free(void *arg)
{
	struct rebind *rebind = arg;

	if (!rebind)
		return;
	task_abandon(rebind->task);
	attempt_done(&rebind->attempt);
	free(rebind->name);
	free(rebind);
}

/* --- tasks ------------------------------------------------------------------------------------ */

static void on_task_end(void *arg, struct task_outcome *outcome)
{
	struct rebind *rebind = arg;
	const struct usb_rebinds_deps *deps = &rebind->rebinds->deps;

	if (outcome) {
		rebind->task = NULL;
		(void)attempt_end(&rebind->attempt, outcome, &backoff, now_ms(rebind->rebinds));
	}
	deps->on_end(deps->arg, rebind->name);
}

static void on_task_late(void *arg)
{
	const struct rebind *rebind = arg;
	const struct usb_rebinds_deps *deps = &rebind->rebinds->deps;

	deps->on_late(deps->arg, rebind->name);
}

static void on_task_gone(void *arg)
{
	struct rebind *rebind = arg;
	const struct usb_rebinds_deps *deps = &rebind->rebinds->deps;

	rebind->task = NULL;
	attempt_end_unknown(&rebind->attempt, now_ms(rebind->rebinds));
	deps->on_gone(deps->arg, rebind->name);
}

static void add_number(struct json_strs *words, const char *key, unsigned number)
{
	auto_free char *text = xasprintf("%u", number);

	task_words_add(words, key, text);
}

static void make_words(const struct usbdeviceclaim *claim, const struct usbdevice *device,
		       struct json_strs *words)
{
	unsigned bus = 0;
	unsigned number = 0;

	(void)usb_node_numbers(device->status.device_path, &bus, &number);
	task_words_add(words, "port", device->status.port_path);
	add_number(words, "bus", bus);
	add_number(words, "device", number);
	if (override_applies(&claim->meta, "UseUnknown"))
		task_words_add(words, "allow-unknown", "1");
}

bool usb_rebinds_start(struct usb_rebinds *rebinds, const struct usbdeviceclaim *claim,
		       const struct usbdevice *device)
{
	struct rebind *rebind = new_rebind(rebinds, claim->meta.name);
	const struct attempt_object of = attempt_object(claim);
	struct json_strs words = { 0 };
	struct err err = { 0 };

	make_words(claim, device, &words);
	rebind->task = task_start(
		&(struct task_spec){
			.loop = rebinds->node->loop,
			.helper = &rebinds->node->helper,
			.deadline_ms = rebinds->node->deadline_ms,
			.deadline_of_step = true,
			.verb = "usb-rebind",
			.key = rebind->name,
			.words = &words,
			.on_late = on_task_late,
			.on_end = on_task_end,
			.on_gone = on_task_gone,
			.arg = rebind,
		},
		&err);
	json_strs_done(&words);
	if (rebind->task)
		attempt_begin(&rebind->attempt, &of, ATTEMPT_CHANGES_ONE, now_ms(rebinds));
	else
		attempt_not_started(&rebind->attempt, &of, &backoff, &err, now_ms(rebinds));
	return rebind->task != NULL;
}

/* --- state ------------------------------------------------------------------------------------ */

void usb_rebinds_state(const struct usb_rebinds *rebinds, const struct usbdeviceclaim *claim,
		       struct usb_rebind_state *ret_state)
{
	const struct rebind *rebind = map_get(rebinds->items, claim->meta.name);
	const struct attempt_object of = attempt_object(claim);

	*ret_state = (struct usb_rebind_state){ 0 };
	if (!rebind)
		return;
	ret_state->done = attempt_is_done(&rebind->attempt, &of, 0);
	ret_state->failure =
		attempt_failure(&rebind->attempt, &of, now_ms(rebinds), &ret_state->hold_ms);
	if (rebind->task && task_is_stuck(rebind->task))
		ret_state->stuck = task_describe(rebind->task);
}

void usb_rebind_state_done(struct usb_rebind_state *state)
{
	free(state->stuck);
	*state = (struct usb_rebind_state){ 0 };
}

void usb_rebinds_forget(struct usb_rebinds *rebinds, const char *name)
{
	const struct rebind *rebind = map_get(rebinds->items, name);

	if (rebind && !rebind->task)
		rebind_free(map_remove(rebinds->items, name));
}

/* --- life ------------------------------------------------------------------------------------- */

struct usb_rebinds *usb_rebinds_new(const struct this_node *node,
				    const struct usb_rebinds_deps *deps)
{
	struct usb_rebinds *rebinds = xcalloc(1, sizeof(*rebinds));

	*rebinds = (struct usb_rebinds){ .node = node, .deps = *deps, .items = map_new() };
	return rebinds;
}

struct usb_rebinds *usb_rebinds_free(struct usb_rebinds *rebinds)
{
	if (!rebinds)
		return NULL;
	map_free_with(rebinds->items, rebind_free);
	free(rebinds);
	return NULL;
}

#include "cli/claim_pick.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_values.h"
#include "base/array.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/claim_wait.h"
#include "cli/client/claims.h"
#include "cli/client/find.h"
#include "cli/client/lists.h"
#include "cli/client/rights.h"
#include "cli/command.h"
#include "cli/model/cluster.h"
#include "cli/model/pick.h"
#include "cli/print/pick_text.h"

enum { REFUSALS_MAX = 32 }; /* after so many refusals of the API server, no other device is tried */

/* A step has failed for one device, which is now among those that are not to be picked. */
enum { PICK_AGAIN = -1 };

/* Names of devices, for the message at the end. */
struct names {
	const char **items;
	size_t len;
	size_t cap;
};

struct picking {
	struct command_run *run;
	enum command_dry_run dry_run;
	struct claim_spec spec;
	struct pick_want want;
	struct cluster *cluster;
	struct lists_missing missing;
	struct rights *rights;  /* NULL: not known */
	struct map *refused;    /* struct pick_refusal */
	struct map *held;       /* struct claim_wait: claims that this run has created */
	struct map *rehearsed;  /* of devices whose claim would be accepted */
	struct names uncertain; /* whose claim was not answered */
	size_t refusals;
	char *cause; /* why the whole attempt fails */
	bool lost;   /* claims have changed meanwhile: the cluster is to be read again */
};

static struct claim_wait *held_at(const struct picking *p, const struct cluster_device *device)
{
	auto_free char *key = pick_key(device);

	return map_get(p->held, key);
}

/* @message may be NULL. */
static void refuse(struct picking *p, const struct cluster_device *device, const char *why,
		   const char *message)
{
	auto_free char *key = pick_key(device);
	struct pick_refusal *refusal = xcalloc(1, sizeof(*refusal));
	struct pick_refusal *old;

	*refusal = (struct pick_refusal){ why, xstrdup_or_null(message) };
	old = map_set(p->refused, key, refusal);
	if (old)
		free(old->message);
	free(old);
}

/* --- what there is ---------------------------------------------------------------------------- */

/* A user with rights on single devices cannot list them. */
static void read_named(struct picking *p, enum cluster_kind devices, enum cluster_kind claims)
{
	struct json_strs names = { 0 };

	if (!p->rights || p->run->settings.selector ||
	    !(p->missing.forbidden & CLUSTER_SET(devices)))
		return;
	rights_names(p->rights, cluster_kind(devices)->plural, "claim", &names);
	for (size_t i = 0; i < names.len && i < COMMAND_WORDS_MAX; i++) {
		struct err ignored = { 0 };

		if (lists_read_one(p->run->session, devices, names.items[i], p->cluster, &ignored) <
		    0)
			continue;
		if (p->missing.forbidden & CLUSTER_SET(claims))
			(void)lists_read_one(p->run->session, claims, names.items[i], p->cluster,
					     &ignored);
	}
	json_strs_done(&names);
}

static const char *device_plural(const struct cluster_device *device)
{
	return cluster_kind(device->type == DEVICE_USB ? CLUSTER_USBDEVICE : CLUSTER_PCIDEVICE)
		->plural;
}

/* What cannot be claimed with these flags, or by this user. */
static void exclude_devices(struct picking *p)
{
	const struct cluster_view *view = cluster_view(p->cluster);

	for (size_t i = 0; i < view->len; i++) {
		const struct cluster_device *device = &view->devices[i];
		const char *plural = device_plural(device);
		const char *misfit = claim_misfit(device->type, &p->spec);

		if (device->type == DEVICE_MDEV || !pick_matches(&p->want, device))
			continue;
		if (misfit)
			refuse(p, device, "refused", misfit);
		else if (!rights_allow(p->rights, plural, device->name, "claim"))
			refuse(p, device, "that you may not claim", NULL);
		else if (p->want.groups &&
			 !rights_allow(p->rights, plural, device->name, "claim-group"))
			refuse(p, device, "whose IOMMU group you may not claim", NULL);
		else if (!p->want.groups && pick_is_shared(device) &&
			 !rights_allow(p->rights, plural, device->name, "claim-group"))
			refuse(p, device,
			       "in a shared IOMMU group, which needs the verb claim-group: ask an "
			       "administrator",
			       NULL);
	}
}

static int read_cluster(struct picking *p, struct err *err)
{
	static const unsigned kinds = CLUSTER_DEVICES | CLUSTER_CARDS | CLUSTER_SET(CLUSTER_NODE);
	const struct lists_want want = {
		.kinds = kinds,
		.optional = kinds,
		.node = p->want.node,
		.selector = p->run->settings.selector,
		.user = p->spec.user, /* the claims will be that user's */
	};
	int r;

	cluster_free(p->cluster);
	p->cluster = cluster_new();
	r = lists_read(p->run->session, &want, p->cluster, &p->missing, err);
	if (r == 0)
		r = lists_installed(&p->missing, err);
	if (r < 0)
		return r;
	read_named(p, CLUSTER_PCIDEVICE, CLUSTER_PCICLAIM);
	read_named(p, CLUSTER_USBDEVICE, CLUSTER_USBCLAIM);
	exclude_devices(p);
	return 0;
}

/* --- requests --------------------------------------------------------------------------------- */

/* Is the refusal about this one device? Otherwise all would fail. */
static bool is_about_device(const struct session_answer *answer)
{
	return answer->status >= 400 && answer->status < 500 && answer->status != 401 &&
	       answer->status != 429;
}

/* A request about @device has failed: with PICK_AGAIN another device may do. */
static int judge_failure(struct picking *p, const struct cluster_device *device, int r,
			 const struct session_answer *answer, const struct err *err)
{
	auto_free char *text = claims_refusal(answer, err);

	if (r == -EINTR || session_interrupted(p->run->session))
		return COMMAND_INTERRUPTED;
	if (session_late(p->run->session))
		return COMMAND_LATE;
	if (!is_about_device(answer)) {
		p->cause = xasprintf("%s: %s", device->name, text);
		return COMMAND_FAILED;
	}
	p->lost = p->lost || r == -EEXIST;
	p->refusals++;
	if (r == -EEXIST)
		refuse(p, device, "claimed already", NULL);
	else
		refuse(p, device, "refused by the API server", text);
	return PICK_AGAIN;
}

/* @answer: NULL: none, in a dry run by the client. */
static void hold(struct picking *p, const struct cluster_device *device,
		 const struct session_answer *answer)
{
	auto_free char *key = pick_key(device);
	struct claim_wait *wait = xcalloc(1, sizeof(*wait));

	claim_target_init(&wait->target, device);
	if (answer)
		claim_wait_take(wait, answer);
	else
		wait->object = claim_text(&wait->target, &p->spec);
	map_set(p->held, key, wait);
}

static void wait_free(struct claim_wait *wait)
{
	claim_wait_done(wait);
	free(wait);
}

static int rehearse(struct picking *p, const struct cluster_device *device)
{
	auto_free char *key = pick_key(device);
	auto_answer struct session_answer answer = { 0 };
	struct claim_target target;
	struct err err = { 0 };
	int r;

	if (map_get(p->held, key) || map_get(p->rehearsed, key))
		return 0;
	claim_target_init(&target, device);
	r = claim_create(p->run->session, &target, &p->spec, true, &answer, &err);
	claim_target_done(&target);
	if (r < 0)
		return judge_failure(p, device, r, &answer, &err);
	map_set(p->rehearsed, key, p);
	if (p->dry_run == DRY_RUN_SERVER) {
		claims_warn(&answer);
		hold(p, device, &answer);
	}
	return 0;
}

/* Without an answer it is not known whether the claim was created. If there is one, another run may
 * have created it. */
static void check_uncertain(struct picking *p, const struct claim_target *target,
			    const struct cluster_device *device,
			    const struct session_answer *answer)
{
	auto_answer struct session_answer read = { 0 };

	if (answer->status >= 400 && answer->status != 504)
		return;
	session_set_end(p->run->session, 0);
	if (claim_read(p->run->session, target, &read, NULL) != -ENOENT)
		*array_add(&p->uncertain) = device->name;
}

static int create(struct picking *p, const struct cluster_device *device)
{
	auto_answer struct session_answer answer = { 0 };
	auto_free char *why = NULL;
	struct claim_target target;
	struct err err = { 0 };
	int status = 0;
	int r;

	if (held_at(p, device))
		return 0;
	if (session_interrupted(p->run->session))
		return COMMAND_INTERRUPTED;
	claim_target_init(&target, device);
	r = claim_create(p->run->session, &target, &p->spec, false, &answer, &err);
	claims_warn(&answer);
	if (r == 0) {
		hold(p, device, &answer);
	} else {
		why = r == -EEXIST ? xstrdup("claimed already") : claims_refusal(&answer, &err);
		status = judge_failure(p, device, r, &answer, &err);
		check_uncertain(p, &target, device, &answer);
	}
	claim_target_done(&target);
	if (status == PICK_AGAIN)
		command_note("%s: %s; trying another device", device->name, why);
	return status == 0 && session_interrupted(p->run->session) ? COMMAND_INTERRUPTED : status;
}

/* Release a claim of this run. False: it is still there, for the reason *@ret_why. The caller frees
 * that. */
static bool undo(struct picking *p, const struct claim_wait *wait, char **ret_why)
{
	auto_answer struct session_answer answer = { 0 };
	struct err err = { 0 };
	int r = 0;

	if (p->dry_run == DRY_RUN_NONE)
		r = claim_delete_own(p->run->session, &wait->target, wait->uid ? wait->uid : "",
				     &answer, &err);
	*ret_why = r < 0 ? claims_refusal(&answer, &err) : NULL;
	return r == 0 || r == -ENOENT;
}

/* --- the attempt ------------------------------------------------------------------------------ */

static bool is_picked(const struct picking *p, struct cluster_device *const *picked,
		      const struct claim_wait *wait)
{
	for (size_t i = 0; i < p->want.count; i++) {
		if (held_at(p, picked[i]) == wait)
			return true;
	}
	return false;
}

/* A second choice may do without devices of the first one, on another node for example. */
static int release_others(struct picking *p, struct cluster_device *const *picked)
{
	size_t cursor = 0;
	const char *key;
	void *value;

	while (map_next(p->held, &cursor, &key, &value)) {
		struct claim_wait *wait = value;
		auto_free char *why = NULL;

		if (is_picked(p, picked, wait))
			continue;
		if (!undo(p, wait, &why)) {
			p->cause = xasprintf("%s: %s", wait->target.name, why);
			return COMMAND_FAILED;
		}
		if (p->dry_run == DRY_RUN_NONE)
			command_note("%s: released again", wait->target.name);
		map_remove(p->held, key);
		wait_free(wait);
		cursor = 0;
		p->lost = true;
	}
	return 0;
}

static int attempt(struct picking *p, struct cluster_device *const *picked)
{
	int status = release_others(p, picked);

	for (size_t i = 0; status == 0 && i < p->want.count; i++) {
		if (p->dry_run == DRY_RUN_CLIENT)
			hold(p, picked[i], NULL);
		else
			status = rehearse(p, picked[i]);
	}
	for (size_t i = 0; status == 0 && p->dry_run == DRY_RUN_NONE && i < p->want.count; i++)
		status = create(p, picked[i]);
	return status;
}

static int read_again(struct picking *p)
{
	struct err err = { 0 };

	if (!p->lost)
		return 0;
	p->lost = false;
	if (read_cluster(p, &err) == 0)
		return 0;
	p->cause = xstrdup(err.msg);
	return session_late(p->run->session) ? COMMAND_LATE : COMMAND_FAILED;
}

static void add_too_few(struct picking *p)
{
	const unsigned devices = CLUSTER_SET(CLUSTER_PCIDEVICE) | CLUSTER_SET(CLUSTER_USBDEVICE);
	bool blind = (p->missing.forbidden & devices) != 0;
	auto_str struct str hidden = STR_INIT;
	auto_str struct str text = STR_INIT;

	if (p->refusals >= REFUSALS_MAX)
		str_addf(&text, "stopped after %zu refusals: ", p->refusals);
	lists_forbidden_text(&p->missing, ~0U, &hidden);
	pick_text(p->cluster, &p->want, p->run->settings.selector, blind ? hidden.buf : NULL,
		  &text);
	if (hidden.len > 0 && !blind)
		str_addf(&text, "\n  %s", hidden.buf);
	p->cause = str_detach(&text);
}

static int attempt_all(struct picking *p)
{
	int status = PICK_AGAIN;

	while (status == PICK_AGAIN) {
		auto_free struct cluster_device **picked = NULL;

		status = read_again(p);
		if (status != 0)
			break;
		picked = p->refusals < REFUSALS_MAX ? pick_devices(p->cluster, &p->want) : NULL;
		if (!picked) {
			add_too_few(p);
			return COMMAND_FAILED;
		}
		status = attempt(p, picked);
	}
	return status;
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Release the claims of this run. @left are those that are still there. */
static void undo_all(struct picking *p, struct names *undone, struct str *left)
{
	size_t cursor = 0;
	void *value;

	/* --timeout does not end this. */
	session_set_end(p->run->session, 0);
	while (p->dry_run == DRY_RUN_NONE && map_next(p->held, &cursor, NULL, &value)) {
		struct claim_wait *wait = value;
		auto_free char *why = NULL;

		if (undo(p, wait, &why))
			*array_add(undone) = wait->target.name;
		else
			str_addf(left, "\n  still claimed: %s: %s", wait->target.name, why);
	}
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_names(struct str *text, const char *lead, struct names *names)
{
	if (names->len == 0)
		return;
	qsort(names->items, names->len, sizeof(*names->items), by_text);
	pick_text_names(text, lead, names->items, names->len);
}

/* All that there is to say, in one message. */
static void say_failure(struct picking *p, int status)
{
	auto_str struct str text = STR_INIT;
	auto_str struct str left = STR_INIT;
	struct names undone = { 0 };

	undo_all(p, &undone, &left);
	if (status == COMMAND_INTERRUPTED)
		str_add(&text, "interrupted");
	else if (status == COMMAND_LATE)
		str_add(&text, "timed out (--timeout)");
	else
		str_add(&text, p->cause);
	add_names(&text, "released again", &undone);
	str_add(&text, str_cstr(&left));
	add_names(&text, "not known whether claimed, see kubectl hostdev who", &p->uncertain);
	if (left.len == 0 && p->uncertain.len == 0)
		str_add(&text, "\n  nothing is claimed");
	command_say(p->run, str_cstr(&text));
	array_done(&undone);
}

static void take_waits(struct picking *p, struct claim_wait **ret_waits, size_t *ret_len)
{
	const struct cluster_view *view = cluster_view(p->cluster);
	struct claim_wait *waits = xcalloc(map_len(p->held) + 1, sizeof(*waits));
	size_t len = 0;

	for (size_t i = 0; i < view->len; i++) {
		auto_free char *key = pick_key(&view->devices[i]);
		struct claim_wait *wait = map_remove(p->held, key);

		if (!wait)
			continue;
		waits[len++] = *wait;
		free(wait);
	}
	*ret_waits = waits;
	*ret_len = len;
}

static void picking_done(struct picking *p)
{
	size_t cursor = 0;
	void *value;

	while (map_next(p->held, &cursor, NULL, &value))
		wait_free(value);
	cursor = 0;
	while (map_next(p->refused, &cursor, NULL, &value)) {
		free(((struct pick_refusal *)value)->message);
		free(value);
	}
	map_free(p->held);
	map_free(p->refused);
	map_free(p->rehearsed);
	array_done(&p->uncertain);
	rights_free(p->rights);
	cluster_free(p->cluster);
	free(p->cause);
}

static int say_unread(struct picking *p, const struct err *err)
{
	if (session_late(p->run->session)) {
		command_note("Timed out (--timeout): nothing was claimed.");
		return COMMAND_LATE;
	}
	return command_fail(p->run, err);
}

static int pick_all(struct picking *p)
{
	struct session *session = p->run->session;
	struct err err = { 0 };
	int status;

	/* Without an answer, the requests themselves show what is allowed. */
	(void)rights_read(session, &p->rights, NULL);
	if (read_cluster(p, &err) < 0)
		return say_unread(p, &err);
	if (p->dry_run == DRY_RUN_NONE) {
		session_catch_signals(session);
		session_hold_signals(session, "Interrupted: what was claimed is released; Ctrl-C "
					      "again ends the command at once.");
	}
	status = attempt_all(p);
	/* The cause of a failure names all kinds. */
	if (status != COMMAND_FAILED)
		command_tell_missing(&p->missing, CLUSTER_SET(CLUSTER_NODE));
	if (status != COMMAND_OK)
		say_failure(p, status);
	session_hold_signals(session, NULL);
	return status;
}

int claim_pick(struct command_run *run, struct claim_wait **ret_waits, size_t *ret_len)
{
	const struct command_settings *s = &run->settings;
	struct picking p = {
		.run = run,
		.dry_run = (enum command_dry_run)s->dry_run,
		.refused = map_new(),
		.held = map_new(),
		.rehearsed = map_new(),
	};
	int status;

	command_claim(s, &p.spec);
	p.want = (struct pick_want){
		.resource = s->resource,
		.node = s->node ? find_node_part(s->node) : NULL,
		.count = s->count ? s->count : 1,
		.any_node = s->any_node,
		.groups = s->include_group,
		.refused = p.refused,
		.held = p.held,
	};
	status = pick_all(&p);
	if (status == COMMAND_OK)
		take_waits(&p, ret_waits, ret_len);
	picking_done(&p);
	return status;
}

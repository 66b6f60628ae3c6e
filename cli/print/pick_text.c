#include "cli/print/pick_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/model/cluster.h"
#include "cli/model/pick.h"
#include "text/out.h"

enum { MORE_WIDTH = 16 }; /* for " and 1000 more" */

/* Devices with the same cause. */
struct cause {
	char *lead;          /* "claimed by 'bob'", clean */
	const char *message; /* of the API server, not clean; "": none */
	ARRAY(const char *) names;
};

struct causes {
	struct cause *items;
	size_t len;
	size_t cap;
};

void pick_text_names(struct str *to, const char *lead, const char *const *names, size_t len)
{
	auto_str struct str line = STR_INIT;
	size_t i;

	str_addf(&line, "  %s: ", lead);
	for (i = 0; i < len; i++) {
		auto_str struct str name = STR_INIT;

		out_text(&name, names[i]);
		if (i > 0 && out_width(line.buf) + 2 + out_width(str_cstr(&name)) +
					     (i + 1 < len ? MORE_WIDTH : 0) >
				     PICK_TEXT_WIDTH)
			break;
		str_addf(&line, "%s%s", i > 0 ? ", " : "", str_cstr(&name));
	}
	if (i < len)
		str_addf(&line, " and %zu more", len - i);
	str_addf(to, "\n%s", line.buf);
}

/* --- one device ------------------------------------------------------------------------------- */

static char *quoted(const char *before, const char *text, const char *after)
{
	struct str to = STR_INIT;

	str_add(&to, before);
	out_text(&to, text);
	str_add(&to, after);
	return str_detach(&to);
}

/* A device that is not claimed, and whose state is not claimable. */
static char *lead_of_state(const struct cluster_device *device)
{
	const struct state_verdict *verdict = &device->verdict;
	const char *word = state_look(verdict->state)->word;
	auto_free char *before = xasprintf("%s (", word);

	if (device->type == DEVICE_MDEV)
		return xstrdup("mediated, which cannot be claimed");
	if (verdict->state == STATE_AVAILABLE)
		return xstrdup("offered by the HostDeviceConfig");
	return verdict->reason[0] ? quoted(before, verdict->reason, ")") : xstrdup(word);
}

static char *lead_of(const struct cluster_device *device, enum pick_state state, const char *why)
{
	switch (state) {
	case PICK_FREE:
	case PICK_HELD:
		return quoted("free on ", device->node, "");
	case PICK_REFUSED:
		return xstrdup(why);
	case PICK_RELEASING:
		return xstrdup("being released");
	case PICK_USED:
		return xstrdup("in use by a pod");
	case PICK_CLAIMED:
		return device->user[0] ? quoted("claimed by '", device->user, "'")
				       : xstrdup("claimed");
	case PICK_SHARED:
		return xstrdup("in a shared IOMMU group, which needs --include-group");
	case PICK_GROUP:
		return xstrdup("in an IOMMU group that another claim has");
	case PICK_SIBLING:
		return xstrdup("in an IOMMU group with a function that cannot be claimed now");
	case PICK_OTHER:
		break;
	}
	return lead_of_state(device);
}

/* --- all of them ------------------------------------------------------------------------------ */

static void add_cause(struct causes *causes, const struct pick_want *want,
		      const struct cluster_device *device, enum pick_state state)
{
	auto_free char *key = pick_key(device);
	const struct pick_refusal *refusal =
		state == PICK_REFUSED ? map_get(want->refused, key) : NULL;
	const char *message = refusal && refusal->message ? refusal->message : "";
	auto_free char *lead = lead_of(device, state, refusal ? refusal->why : "");
	struct cause *cause = NULL;

	for (size_t i = 0; i < causes->len && !cause; i++) {
		if (strcmp(causes->items[i].lead, lead) == 0 &&
		    strcmp(causes->items[i].message, message) == 0)
			cause = &causes->items[i];
	}
	if (!cause) {
		cause = array_add(causes);
		*cause = (struct cause){ .lead = take_ptr(lead), .message = message };
	}
	*array_add(&cause->names) = device->name;
}

static void print_cause(const struct cause *cause, struct str *to)
{
	const struct out width = { .format = OUT_TABLE, .width = PICK_TEXT_WIDTH };
	auto_free char *lead = xasprintf("%zu %s", cause->names.len, cause->lead);
	auto_str struct str message = STR_INIT;

	pick_text_names(to, lead, cause->names.items, cause->names.len);
	if (!cause->message[0])
		return;
	out_text(&message, cause->message);
	str_add(to, "\n    ");
	out_wrap(&width, to, str_cstr(&message), 4, 4);
}

static void print_causes(const struct causes *causes, struct str *to)
{
	size_t left = 0;

	for (size_t i = 0; i < causes->len; i++) {
		if (i < PICK_TEXT_LINES)
			print_cause(&causes->items[i], to);
		else
			left += causes->items[i].names.len;
	}
	if (left > 0)
		str_addf(to, "\n  %zu more: kubectl hostdev tree shows them", left);
}

static void causes_done(struct causes *causes)
{
	for (size_t i = 0; i < causes->len; i++) {
		free(causes->items[i].lead);
		free(causes->items[i].names.items);
	}
	free(causes->items);
}

/* The resource that was probably meant: one that begins so, the same without the domain, or one
 * with a typing error. */
static const char *nearest(struct cluster *cluster, const char *resource)
{
	const struct cluster_view *view = cluster_view(cluster);
	size_t least = str_far(resource);
	const char *found = NULL;

	for (size_t i = 0; i < view->len; i++) {
		const char *other = view->devices[i].resource;
		const char *slash = strrchr(other, '/');
		bool meant = slash && (strcmp(slash + 1, resource) == 0 ||
				       strncmp(other, resource, strlen(resource)) == 0);
		size_t distance = meant ? 0 : str_distance(resource, other);

		if (other[0] && distance < least) {
			least = distance;
			found = other;
		}
	}
	return found;
}

static void add_unknown(struct cluster *cluster, const struct pick_want *want, const char *selector,
			struct str *to)
{
	const char *other = nearest(cluster, want->resource);
	const char *fault = want->node ? cluster_node_fault(cluster, want->node).reason : NULL;
	auto_free char *node = want->node ? quoted(" on the node '", want->node, "'") : xstrdup("");
	auto_free char *labels =
		selector ? quoted(" with the labels '", selector, "'") : xstrdup("");

	if (fault && strcmp(fault, "NodeGone") == 0) {
		auto_free char *name = quoted("there is no node '", want->node, "'");

		str_addf(to, "%s: kubectl get nodes lists them", name);
		return;
	}
	str_addf(to, "no device%s%s has the resource '", node, labels);
	out_text(to, want->resource);
	str_add(to, "'");
	if (other && strcmp(other, want->resource) != 0) {
		auto_free char *name = quoted("\n  did you mean '", other, "'?");

		str_add(to, name);
	} else {
		str_add(to, "\n  kubectl hostdev top lists the resources");
	}
}

static bool is_free(enum pick_state state)
{
	return state == PICK_FREE || state == PICK_HELD;
}

/* The free ones first. */
static size_t find_causes(struct cluster *cluster, const struct pick_want *want,
			  struct causes *causes, size_t *ret_free)
{
	const struct cluster_view *view = cluster_view(cluster);
	size_t matches = 0;

	*ret_free = 0;
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < view->len; i++) {
			const struct cluster_device *device = &view->devices[i];
			enum pick_state state;

			if (!pick_matches(want, device))
				continue;
			state = pick_judge(cluster, want, device);
			if (is_free(state) != (pass == 0))
				continue;
			add_cause(causes, want, device, state);
			*ret_free += is_free(state);
			matches++;
		}
	}
	return matches;
}

void pick_text(struct cluster *cluster, const struct pick_want *want, const char *selector,
	       const char *hidden, struct str *to)
{
	struct causes causes = { 0 };
	size_t usable;
	size_t matches = find_causes(cluster, want, &causes, &usable);
	auto_free struct cluster_device **picked = pick_devices(cluster, want);
	bool one_node = want->count > 1 && !want->any_node && !want->node;

	if (matches == 0 && hidden) {
		str_add(to, "no device that you may read has the resource '");
		out_text(to, want->resource);
		str_add_char(to, '\'');
	} else if (matches == 0) {
		add_unknown(cluster, want, selector, to);
	} else if (usable >= want->count && !picked) {
		str_addf(to, "%zu wanted on one node, and no node has so many free", want->count);
		print_causes(&causes, to);
		str_add(to, "\n  --any-node takes them from several nodes");
	} else {
		str_addf(to, "%zu wanted%s, %zu free", want->count, one_node ? " on one node" : "",
			 usable);
		print_causes(&causes, to);
	}
	if (hidden)
		str_addf(to, "\n  %s", hidden);
	causes_done(&causes);
}

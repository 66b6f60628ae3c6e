#include "agent/resource/offered.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/resource/pci_type.h"
#include "api/json_values.h"
#include "base/array.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"

/* The last answer for a caller. Owns its texts, except the owner, which is static. */
struct asked {
	char *address;
	char *resource;
	char *trouble;
	struct offered_answer answer;
};

enum node_view {
	NODE_UNSEEN, /* it has not been read */
	NODE_BARE,   /* no kubelet has written it */
	NODE_LISTS,
	NODE_GONE,
	NODE_DENIED,
};

struct offered {
	const struct pci_type *pci;
	const struct offered_ops *ops;
	void *arg;
	enum node_view node;
	struct json_pairs allocatable; /* NODE_LISTS  */
	char *denied;                  /* NODE_DENIED */
	struct {
		struct asked *items;
		size_t len, cap;
	} asked;
};

/* Of an extended resource the quantity is a whole number, "2"; from 1000 on it may be "1k". */
static uint64_t count_of(const struct offered *offered, const char *resource)
{
	const char *quantity = json_pairs_get(&offered->allocatable, resource);
	size_t len = quantity ? strlen(quantity) : 0;
	auto_free char *digits = NULL;
	uint64_t count = 0;

	if (len == 0)
		return 0;
	if (str_to_u64(quantity, &count))
		return count;
	digits = xstrndup(quantity, len - 1);
	return quantity[len - 1] == 'k' && str_to_u64(digits, &count) ? count * 1000 : 0;
}

static struct offered_answer answer(const struct offered *offered, const char *address)
{
	static const enum offered_state states[] = {
		[NODE_UNSEEN] = OFFERED_NOT_YET,         [NODE_BARE] = OFFERED_BY_NOBODY,
		[NODE_LISTS] = OFFERED_NOT_YET,          [NODE_GONE] = OFFERED_NODE_GONE,
		[NODE_DENIED] = OFFERED_NODE_UNREADABLE,
	};
	const struct pci_last_offer *last = pci_type_last_offer(offered->pci, address);
	struct offered_answer answer = { .state = states[offered->node],
					 .denied = offered->denied };

	if (!last)
		return answer;
	answer.resource = last->resource;
	/* The claim knows its own trouble better than the offer, which follows it. */
	answer.trouble = last->by_claim ? NULL : last->trouble;
	answer.group_taken = last->group_taken;
	answer.held = offered->ops->held(offered->arg, address);
	answer.dra = last->dra;
	if (last->dra) {
		if (offered->node != NODE_GONE)
			answer.state = last->trouble ? OFFERED_NOT_YET : OFFERED;
		return answer;
	}
	answer.owner = offered->ops->owner(offered->arg, last->resource);
	if (offered->node == NODE_LISTS && !last->trouble && !answer.owner &&
	    count_of(offered, last->resource) >= last->healthy &&
	    offered->ops->lists(offered->arg, last->resource, address))
		answer.state = OFFERED;
	return answer;
}

static void asked_done(struct asked *asked)
{
	free(asked->address);
	free(asked->resource);
	free(asked->trouble);
}

static bool is_changed(const struct asked *asked, const struct offered_answer *now)
{
	const struct offered_answer *before = &asked->answer;
	bool lapsed = before->state == OFFERED && now->state == OFFERED_NOT_YET;

	return (now->state != before->state && !lapsed) || now->held != before->held ||
	       now->dra != before->dra || !str_equal(now->resource, asked->resource) ||
	       !str_equal(now->trouble, asked->trouble) || !str_equal(now->owner, before->owner);
}

void offered_check_answers(struct offered *offered)
{
	size_t kept = 0;

	for (size_t i = 0; i < offered->asked.len; i++) {
		struct asked *asked = &offered->asked.items[i];
		struct offered_answer now = answer(offered, asked->address);

		if (!is_changed(asked, &now)) {
			offered->asked.items[kept++] = *asked;
			continue;
		}
		offered->ops->changed(offered->arg, asked->address);
		asked_done(asked);
	}
	offered->asked.len = kept;
}

static void set_node(struct offered *offered, enum node_view node,
		     const struct json_pairs *allocatable, const char *denied)
{
	offered->node = node;
	json_pairs_done(&offered->allocatable);
	for (size_t i = 0; allocatable && i < allocatable->len; i++)
		json_pairs_set(&offered->allocatable, allocatable->items[i].key,
			       allocatable->items[i].value);
	free(offered->denied);
	offered->denied = xstrdup_or_null(denied);
	offered_check_answers(offered);
}

bool offered_set(struct offered *offered, const struct json_pairs *allocatable)
{
	enum node_view node = allocatable ? NODE_LISTS : NODE_BARE;
	bool changed = offered->node != node ||
		       (allocatable && !json_pairs_equal(&offered->allocatable, allocatable));

	if (changed)
		set_node(offered, node, allocatable, NULL);
	return changed;
}

bool offered_counts(const struct offered *offered, const char *resource, bool listed)
{
	if (offered->node == NODE_LISTS)
		return listed && count_of(offered, resource) > 0;
	return offered->node != NODE_UNSEEN;
}

bool offered_set_no_node(struct offered *offered, const char *denied)
{
	enum node_view node = denied ? NODE_DENIED : NODE_GONE;

	if (offered->node == node)
		return false;
	set_node(offered, node, NULL, denied);
	return true;
}

static void remember(struct offered *offered, const char *address,
		     const struct offered_answer *answer)
{
	struct asked *asked = NULL;

	for (size_t i = 0; i < offered->asked.len && !asked; i++) {
		if (strcmp(offered->asked.items[i].address, address) == 0)
			asked = &offered->asked.items[i];
	}
	if (asked)
		asked_done(asked);
	else
		asked = array_add(&offered->asked);
	*asked = (struct asked){ .address = xstrdup(address),
				 .resource = xstrdup_or_null(answer->resource),
				 .trouble = xstrdup_or_null(answer->trouble),
				 .answer = *answer };
}

struct offered_answer offered_ask(struct offered *offered, const char *address)
{
	struct offered_answer now = answer(offered, address);

	remember(offered, address, &now);
	return now;
}

struct offered *offered_new(const struct pci_type *pci, const struct offered_ops *ops, void *arg)
{
	struct offered *offered = xcalloc(1, sizeof(*offered));

	offered->pci = pci;
	offered->ops = ops;
	offered->arg = arg;
	return offered;
}

struct offered *offered_free(struct offered *offered)
{
	if (!offered)
		return NULL;
	for (size_t i = 0; i < offered->asked.len; i++)
		asked_done(&offered->asked.items[i]);
	array_done(&offered->asked);
	json_pairs_done(&offered->allocatable);
	free(offered->denied);
	free(offered);
	return NULL;
}

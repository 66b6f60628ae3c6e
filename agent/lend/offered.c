#include "agent/lend/offered.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/lend/pci_type.h"
#include "api/json_values.h"
#include "base/array.h"
#include "base/mem.h"
#include "base/num.h"

/* Somebody was told OFFERED_NOT_YET. */
struct waiting {
	char *address;
	char *trouble; /* which was the reason; NULL: none */
};

struct offered {
	const struct pci_type *pci;
	void (*changed)(void *arg, const char *address);
	void *arg;
	bool known; /* the Node has been looked at */
	bool has_kubelet;
	struct json_pairs allocatable;
	struct {
		struct waiting *items;
		size_t len, cap;
	} waiting;
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
	struct offered_answer answer = { .state = OFFERED_NOT_YET };
	size_t healthy = 0;

	if (offered->known && !offered->has_kubelet)
		answer.state = OFFERED_BY_NOBODY;
	if (!pci_type_offered(offered->pci, address, &answer.resource, &answer.trouble, &healthy))
		return answer;
	if (offered->known && offered->has_kubelet && !answer.trouble &&
	    count_of(offered, answer.resource) >= healthy)
		answer.state = OFFERED;
	return answer;
}

static void waiting_done(struct waiting *waiting)
{
	free(waiting->address);
	free(waiting->trouble);
}

static bool is_same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

void offered_look_again(struct offered *offered)
{
	size_t kept = 0;

	for (size_t i = 0; i < offered->waiting.len; i++) {
		struct waiting *waiting = &offered->waiting.items[i];
		struct offered_answer now = answer(offered, waiting->address);

		if (now.state == OFFERED_NOT_YET && is_same(now.trouble, waiting->trouble)) {
			offered->waiting.items[kept++] = *waiting;
			continue;
		}
		offered->changed(offered->arg, waiting->address);
		waiting_done(waiting);
	}
	offered->waiting.len = kept;
}

void offered_set(struct offered *offered, const struct json_pairs *allocatable)
{
	bool same = offered->known && offered->has_kubelet == (allocatable != NULL) &&
		    (!allocatable || json_pairs_equal(&offered->allocatable, allocatable));

	if (same)
		return;
	offered->known = true;
	offered->has_kubelet = allocatable;
	json_pairs_done(&offered->allocatable);
	for (size_t i = 0; allocatable && i < allocatable->len; i++)
		json_pairs_set(&offered->allocatable, allocatable->items[i].key,
			       allocatable->items[i].value);
	offered_look_again(offered);
}

static void wait_for(struct offered *offered, const char *address, const char *trouble)
{
	struct waiting *waiting = NULL;

	for (size_t i = 0; i < offered->waiting.len && !waiting; i++) {
		if (strcmp(offered->waiting.items[i].address, address) == 0)
			waiting = &offered->waiting.items[i];
	}
	if (!waiting) {
		waiting = array_add(&offered->waiting);
		waiting->address = xstrdup(address);
	}
	free(waiting->trouble);
	waiting->trouble = xstrdup_or_null(trouble);
}

struct offered_answer offered_ask(struct offered *offered, const char *address)
{
	struct offered_answer now = answer(offered, address);

	if (now.state == OFFERED_NOT_YET)
		wait_for(offered, address, now.trouble);
	return now;
}

struct offered *offered_new(const struct pci_type *pci,
			    void (*changed)(void *arg, const char *address), void *arg)
{
	struct offered *offered = xcalloc(1, sizeof(*offered));

	offered->pci = pci;
	offered->changed = changed;
	offered->arg = arg;
	return offered;
}

struct offered *offered_free(struct offered *offered)
{
	if (!offered)
		return NULL;
	for (size_t i = 0; i < offered->waiting.len; i++)
		waiting_done(&offered->waiting.items[i]);
	array_done(&offered->waiting);
	json_pairs_done(&offered->allocatable);
	free(offered);
	return NULL;
}

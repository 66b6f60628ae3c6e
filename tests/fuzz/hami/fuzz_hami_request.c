/*
 * fuzz_hami_request: any bytes as the choice of HAMi's scheduler for a pod, and as the lock of a
 * node. What is taken has bounded, plain parts; erasing all of it, entry by entry, ends, and leaves
 * as many ';' as there were.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/hami/hami_lock.h"
#include "agent/hami/hami_request.h"
#include "base/err.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { REQUESTERS_MAX = 8 };

static void check(const struct hami_request *request)
{
	assert(request->len <= HAMI_ENTRIES_MAX);
	for (size_t i = 0; i < request->len; i++) {
		const struct hami_entry *entry = &request->items[i];

		assert(entry->len <= HAMI_SHARES_MAX);
		for (size_t k = 0; k < entry->len; k++) {
			assert(strncmp(entry->items[k].uuid, "GPU-", 4) == 0);
			assert(!strpbrk(entry->items[k].uuid, "/.,:; \n"));
			assert(entry->items[k].memory_mib > 0);
		}
	}
}

static size_t separators(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == ';';
	return n;
}

/* The kubelet requests GPUs for one container after the other. */
static void allocate(const char *text, const struct hami_requester *requesters, size_t len)
{
	auto_free char *left = xstrdup(text);

	for (size_t rounds = 0;; rounds++) {
		struct hami_request request;
		struct err err = { 0 };
		struct hami_next next;
		char *rest;

		assert(rounds <= HAMI_ENTRIES_MAX);
		if (hami_request_parse(left, &request, &err) < 0) {
			assert(rounds == 0 && err.kind == ERR_INVALID && err.msg[0]);
			return;
		}
		check(&request);
		if (hami_request_next(&request, requesters, len, 1, &next, &err) < 0) {
			assert(err.kind == ERR_INVALID && err.msg[0]);
			hami_request_done(&request);
			return;
		}
		assert(next.entry < request.len && next.requester < len);
		assert(requesters[next.requester].requests == 1);
		rest = hami_request_without(&request, next.entry);
		assert(strlen(rest) < strlen(left) && separators(rest) == separators(left));
		hami_request_done(&request);
		free(left);
		left = rest;
	}
}

static void read_lock(const char *text)
{
	struct hami_lock lock;
	struct err err = { 0 };

	if (hami_lock_parse(text, &lock, &err) < 0) {
		assert(err.kind == ERR_INVALID && err.msg[0]);
		return;
	}
	assert(strcmp(lock.text, text) == 0);
	assert(!strpbrk(lock.namespace, "/?% ") && !strpbrk(lock.pod, "/?% "));
	hami_lock_done(&lock);
}

/* The first byte is the pod: which of up to eight containers ask for a GPU. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hami_requester requesters[REQUESTERS_MAX];
	auto_free char *text = NULL;
	size_t len = 0;

	if (size == 0)
		return 0;
	text = xstrndup((const char *)data + 1, size - 1);
	for (unsigned pod = data[0]; len < REQUESTERS_MAX && pod; pod >>= 1)
		requesters[len++] = (struct hami_requester){ "c", pod & 1 };
	allocate(text, requesters, len);
	read_lock(text);
	return 0;
}

/*
 * hami_request: what HAMi's scheduler has chosen for the containers of a pod: parses the pod's
 * annotation hami.io/vgpu-devices-to-allocate and finds the container of each entry. Pure.
 *
 *	GPU-a,NVIDIA,3000,30:GPU-b,NVIDIA,3000,30:;GPU-a,NVIDIA,10240,0:;
 *
 * This is two GPUs for one container, each with 3000 MiB and 30 percent of its time, then one GPU
 * for another container. Anybody who can write pods can write the annotation, so text that the
 * scheduler would not write is rejected as a whole.
 *
 * HAMi's releases have three forms for a container that gets no GPU. Up to 2.7, and if the node's
 * GPU type is the bare word NVIDIA, every container has an entry, init containers first; the entry
 * is empty, or ",,0,0:;" in early releases. Other releases have no entry for it (HAMi#2899, #3079).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define HAMI_TO_ALLOCATE "hami.io/vgpu-devices-to-allocate"

enum {
	HAMI_TEXT_MAX = 64 << 10, /* bytes of the annotation */
	HAMI_ENTRIES_MAX = 256,   /* containers of a pod     */
	HAMI_SHARES_MAX = 64,     /* GPUs of a container     */
};

/* A part of one GPU. */
struct hami_share {
	char *uuid;
	uint64_t memory_mib; /* never 0 */
	uint64_t cores;      /* percent; 0: no limit */
};

/* What one container gets. No shares: it gets nothing, or already has its GPUs. */
struct hami_entry {
	struct hami_share *items;
	size_t len, cap;
	bool blank;     /* it is ",,0,0:" */
	size_t at, end; /* where it is in the text, without the ';' */
};

struct hami_request {
	char *text;
	struct hami_entry *items;
	size_t len, cap;
};

/* One of a pod's containers, init containers first. Borrowed. */
struct hami_requester {
	const char *name;
	uint64_t requests; /* number of GPUs */
};

/* The next allocation: an entry and the container that it is for. */
struct hami_next {
	size_t entry;
	size_t requester;
};

/* Parse @text (NULL: the pod has no such annotation). 0, or ERR_INVALID with nothing to release. */
int hami_request_parse(const char *text, struct hami_request *ret_request, struct err *err);
/* Release. */
void hami_request_done(struct hami_request *request);

/*
 * Find the entry to allocate next, and which of the @len @requesters it is for. The kubelet
 * requests @wanted GPUs; it calls for one container after the other, in their order. Errors
 * (ERR_INVALID): -ENODATA nothing is left; -ESTALE the next entry or its container has a different
 * number of GPUs; -EINVAL the entries do not match the containers.
 */
int hami_request_next(const struct hami_request *request, const struct hami_requester *requesters,
		      size_t len, size_t wanted, struct hami_next *ret_next, struct err *err);

/* The annotation with entry @i emptied; the number of ';' stays. The caller frees. */
char *hami_request_without(const struct hami_request *request, size_t i);

/* Does any entry other than @i have a share? */
bool hami_request_has_more(const struct hami_request *request, size_t i);

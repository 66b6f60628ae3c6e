/*
 * hami_request: what HAMi's scheduler has chosen for the containers of a pod, in the pod's
 * annotation hami.io/vgpu-devices-to-allocate, and which container a part of it is for. Pure.
 *
 *	GPU-a,NVIDIA,3000,30:GPU-b,NVIDIA,3000,30:;GPU-a,NVIDIA,10240,0:;
 *
 * Two GPUs for a container, each with 3000 MiB and 30 percent of its time; then one for another.
 * Who may write pods may write this: a text with anything that the scheduler does not write is
 * refused whole.
 *
 * Which container an entry is for, HAMi's releases say in three ways. Up to 2.7, and where the
 * node's type is the bare word NVIDIA, each container has an entry, init containers first: an empty
 * one, or ",,0,0:;" in early releases, if it gets nothing. Others leave these entries out
 * (HAMi#2899, #3079).
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

/* For one container; without a share: for one that gets nothing, or has got its own. */
struct hami_entry {
	struct hami_share *items;
	size_t len, cap;
	bool blank;     /* it is ",,0,0:" */
	size_t at, end; /* of it in the text, without the ';' */
};

struct hami_request {
	char *text;
	struct hami_entry *items;
	size_t len, cap;
};

/* One of a pod's containers, init containers first. Borrowed. */
struct hami_requester {
	const char *name;
	uint64_t requests; /* so many GPUs */
};

/* What is to be allocated next. */
struct hami_next {
	size_t entry;
	size_t requester;
};

/* Read @text (NULL: the pod has no such annotation). 0, or ERR_INVALID with nothing to release. */
int hami_request_parse(const char *text, struct hami_request *ret_request, struct err *err);
/* Release. */
void hami_request_done(struct hami_request *request);

/*
 * Which entry is the next to be allocated, and for which of the @len @requesters, if the kubelet
 * requests @wanted GPUs: it does so for one container after the other, in their order. Errors,
 * ERR_INVALID: -ENODATA nothing is left; -ESTALE the next entry or its container has another number
 * of GPUs; -EINVAL the entries do not fit the containers.
 */
int hami_request_next(const struct hami_request *request, const struct hami_requester *requesters,
		      size_t len, size_t wanted, struct hami_next *ret_next, struct err *err);

/* The text without what is in the entry @i: as many ';' as before. The caller frees. */
char *hami_request_without(const struct hami_request *request, size_t i);

/* Has an entry other than @i a share? */
bool hami_request_has_more(const struct hami_request *request, size_t i);

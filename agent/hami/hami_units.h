/*
 * hami_units: NVIDIA's GPUs as HAMi divides them: each is offered to the kubelet as several units,
 * "UUID-0", "UUID-1" and so on, and to HAMi's scheduler with its memory and time. Pure.
 */
#pragma once

#include <stddef.h>

#include "agent/hami/hami_register.h"

struct err;
struct hami_config;
struct hami_entry;
struct json_strs;
struct nvidia_type;

/* Texts are borrowed from the GPUs. */
struct hami_units {
	struct hami_gpu *items; /* in the order of their addresses */
	size_t len, cap;
};

/* The GPUs of @type that are divided: all but those in MIG mode, those that the configuration
 * filters, and those whose UUID or memory is not known. The latter two and MIG are named in
 * @left_out ("GPU-...: it is in MIG mode"), which may be NULL. */
void hami_units_make(const struct nvidia_type *type, const struct hami_config *config,
		     struct hami_units *ret_units, struct json_strs *left_out);
/* Release. */
void hami_units_done(struct hami_units *units);

/* The kubelet's ID of the unit @i of @gpu. The caller frees. */
char *hami_unit_id(const struct hami_gpu *gpu, unsigned i);

/* Can the GPUs be given as @entry says? Its shares are no larger than what there is, of healthy GPUs
 * that are there. 0, or ERR_INVALID. */
int hami_units_check(const struct hami_units *units, const struct hami_entry *entry,
		     struct err *err);

/*
 * hami_units: the GPUs that HAMi divides. The kubelet is offered several units of each, "UUID-0",
 * "UUID-1" and so on; HAMi's scheduler is told the memory and compute of each. Pure.
 */
#pragma once

#include <stddef.h>

#include "agent/hami/hami_register.h"

struct err;
struct hami_config;
struct hami_entry;
struct json_strs;
struct nvidia_type;

/* The strings are borrowed from the GPUs. */
struct hami_units {
	struct hami_gpu *items; /* in the order of their addresses */
	size_t len, cap;
};

/* The GPUs of @type to divide: all except those in MIG mode, those that the configuration excludes,
 * and those whose UUID or memory is unknown. GPUs in MIG mode or without known memory are added to
 * @left_out ("GPU-...: it is in MIG mode"), which may be NULL. */
void hami_units_make(const struct nvidia_type *type, const struct hami_config *config,
		     struct hami_units *ret_units, struct json_strs *left_out);
/* Release. */
void hami_units_done(struct hami_units *units);

/* The kubelet's ID of the unit @i of @gpu. The caller frees. */
char *hami_unit_id(const struct hami_gpu *gpu, unsigned i);

/* 0 if every share of @entry is of a healthy GPU of @units and no larger than the GPU; else
 * ERR_INVALID. */
int hami_units_check(const struct hami_units *units, const struct hami_entry *entry,
		     struct err *err);

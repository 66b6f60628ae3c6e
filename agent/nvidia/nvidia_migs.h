/*
 * nvidia_migs: the MIG devices of one GPU, as hostdev-nvml reports them, and which of them are
 * unhealthy. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nvml_line;

enum { NVIDIA_MIGS_MAX = 64 };

/* To be read only. */
struct nvidia_mig {
	char *uuid;
	char *profile; /* "1g.5gb+me"; NULL: it is not known */
	char *trouble; /* of it alone; NULL: none            */
	int slot;      /* NVML's index of it in its GPU      */
	int gi, ci;
	/* What it has of its GPU; -1: unknown */
	int64_t memory_mib;
	int multiprocessors, gpu_slices, compute_slices;
	int copy_engines, decoders, encoders, jpeg_engines, ofa_engines;
	bool is_whole; /* its compute slices are all of its GPU instance */
	bool told_ill; /* the owner has logged that it is unhealthy */
};

struct nvidia_migs {
	struct nvidia_mig *items;
	size_t len, cap;
};

/* Release and leave an empty list. */
void nvidia_migs_done(struct nvidia_migs *migs);

/* Add the MIG device of a line of the kind "mig". */
void nvidia_migs_add(struct nvidia_migs *migs, const struct nvml_line *line);

/* Replace all by @now, which is taken. Keeps what is known of those that stay. True if anything
 * changed. */
bool nvidia_migs_set(struct nvidia_migs *migs, struct nvidia_migs *now);

/* Mark the MIG devices of the GPU instance @gi and compute instance @ci (-1: all) unhealthy, with
 * @trouble unless they are already. Returns their number; *@ret_news: how many were healthy. */
size_t nvidia_migs_fall_ill(struct nvidia_migs *migs, int gi, int ci, const char *trouble,
			    size_t *ret_news);

/* Mark all healthy. */
void nvidia_migs_recover(struct nvidia_migs *migs);

/* The trouble of the first unhealthy one; NULL: all are healthy. */
const char *nvidia_migs_trouble(const struct nvidia_migs *migs);

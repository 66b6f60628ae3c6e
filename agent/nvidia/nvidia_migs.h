/*
 * nvidia_migs: the MIG devices of one GPU, as hostdev-nvml tells them, and which of them are ill.
 * Pure.
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
	bool told_ill; /* for the owner's log                */
};

struct nvidia_migs {
	struct nvidia_mig *items;
	size_t len, cap;
};

/* Release; there are none again. */
void nvidia_migs_done(struct nvidia_migs *migs);

/* One more, of a line of the kind "mig". */
void nvidia_migs_add(struct nvidia_migs *migs, const struct nvml_line *line);

/* These are all of them now; what is known of those that stay is kept. @now moves. True if they
 * differ. */
bool nvidia_migs_set(struct nvidia_migs *migs, struct nvidia_migs *now);

/* Those that an event of these instances concerns fall ill, with @trouble unless they are already.
 * @ci -1: all of the GPU instance. The number of them; *@ret_news: of those that were well. */
size_t nvidia_migs_fall_ill(struct nvidia_migs *migs, int gi, int ci, const char *trouble,
			    size_t *ret_news);

/* They are all well again. */
void nvidia_migs_recover(struct nvidia_migs *migs);

/* Why the first ill one is; NULL: all are well. */
const char *nvidia_migs_trouble(const struct nvidia_migs *migs);

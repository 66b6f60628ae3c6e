/*
 * nvidia_gpus: the GPUs of this node that are bound to NVIDIA's driver, what hostdev-nvml reported
 * about them, and whether they are healthy. No I/O and no clock.
 *
 * A GPU is identified by its PCI address; its UUID shows whether it was replaced. An error of one
 * GPU does not affect the others. An unhealthy GPU is probed every GPU_PROBE_MS, and is healthy
 * again after GPU_CLEAN_PROBES probes in a row without a fault. Each time it fails again within
 * GPU_RELAPSE_MS, that number doubles.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/nvidia/nvidia_migs.h"

struct json_strs;
struct nvml_line;
struct xid_policy;

enum {
	NVIDIA_GPUS_MAX = 64, /* the limit of hostdev-nvml */
	GPU_PROBE_MS = 5000,
	GPU_URGENT_MS = 1000,  /* between probes of a GPU after an event      */
	GPU_SILENT_MS = 60000, /* before the next question to a GPU that hung */
	GPU_CLEAN_PROBES = 2,
	GPU_RELAPSE_MS = 10 * 60 * 1000,
	GPU_RELAPSES_MAX = 6, /* 128 probes: some ten minutes */
};

/* To be read only. */
struct nvidia_gpu {
	char *address;
	int numa_node;      /* -1: unknown */
	int minor;          /* of /dev/nvidia<minor>; -1: unknown */
	int index;          /* NVML's, which moves when others come and go; -1: unknown */
	int64_t memory_mib; /* 0, -1: unknown */
	unsigned pci_class; /* 0x030200; 0: unknown */
	int compute_major;  /* of its CUDA compute capability; -1: unknown */
	int compute_minor;
	char *cluster;  /* of its NVLink fabric, 32 hex digits; NULL: none, or unknown */
	int64_t clique; /* in that cluster */
	char *uuid;     /* NULL: not known yet */
	char *name;
	char *trouble; /* why it is unhealthy; NULL: healthy, or nothing is known yet */
	/* "the PCIDeviceClaim 'n1-000061000' takes it": it is not offered; NULL: no claim */
	char *claim;
	bool vacant;     /* no container has it: the claim may take it                  */
	bool released;   /* the driver has released it for the claim, or cannot say so  */
	bool altered;    /* its drain state or persistence mode must be restored        */
	bool persistent; /* it was in persistence mode before that                      */
	char *refusal;   /* why the driver does not release it; NULL: not known         */
	bool looked;     /* an inventory has reported it              */
	bool placed;     /* the topology has reported its links       */
	bool silent;     /* a call on it hung: ask about it alone     */
	bool unwatched;  /* a watch has lost it                       */
	bool urgent;     /* probe it although it is healthy           */
	bool doubted;    /* read it again                             */
	bool has_mig;    /* it is in MIG mode                         */
	bool can_mig;    /* it can be in MIG mode                     */
	struct nvidia_migs migs;
	bool told_ill;     /* the owner has logged that it is unhealthy */
	uint64_t ask_ms;   /* no question about it before this time     */
	uint64_t asked_ms; /* when the last question was answered       */

	/* From the answer or watch that is being read. */
	bool answered;
	bool watched;
	char *problem;
	struct nvidia_migs told_migs;

	int nvswitch_links;
	unsigned clean;    /* probes in a row without a fault              */
	unsigned relapses; /* failures, each within GPU_RELAPSE_MS         */
	uint64_t well_ms;  /* when it became healthy again; 0: it never failed */
};

struct nvidia_gpus {
	struct nvidia_gpu *items; /* by address */
	size_t len, cap;
	bool changed;      /* the health, or its reason, has changed; the owner resets it */
	uint16_t *weights; /* of pairs: len rows of len items */
};

/* A card that is bound to NVIDIA's driver. Borrowed. */
struct nvidia_card {
	const char *address;
	int numa_node;
	unsigned pci_class; /* 0x030200; 0: unknown */
};

/* Release and leave an empty list. */
void nvidia_gpus_done(struct nvidia_gpus *gpus);

/* Set the cards, sorted by address. Keeps what is known of those that stay. True if any was added
 * or removed. */
bool nvidia_gpus_set(struct nvidia_gpus *gpus, const struct nvidia_card *cards, size_t len);

/* Set the claim that takes the card at @address; NULL: none. With a claim, the GPU is not watched
 * or probed. True if the claim has changed. */
bool nvidia_gpus_set_claim(struct nvidia_gpus *gpus, const char *address, const char *claim);

/* Set whether the GPU at @address is free of containers. */
void nvidia_gpus_set_vacant(struct nvidia_gpus *gpus, const char *address, bool vacant);

/* The GPU at @address was released earlier; @persistent: it was in persistence mode before. It is
 * not offered, and no question is asked about it, until the driver has attached it again. */
void nvidia_gpus_set_altered(struct nvidia_gpus *gpus, const char *address, bool persistent);

/* Why no container gets any device of @gpu; NULL: there is no such reason. */
const char *nvidia_gpu_trouble(const struct nvidia_gpu *gpu);

/* NULL: there is none. */
struct nvidia_gpu *nvidia_gpus_at(const struct nvidia_gpus *gpus, const char *address);
const struct nvidia_gpu *nvidia_gpus_find(const struct nvidia_gpus *gpus, const char *uuid);

/* Does a GPU other than @gpu have the MIG device @uuid? */
bool nvidia_gpus_has_mig(const struct nvidia_gpus *gpus, const struct nvidia_gpu *gpu,
			 const char *uuid);

/* True if every GPU has been read or has a trouble. */
bool nvidia_gpus_are_known(const struct nvidia_gpus *gpus);

/* The score of a pair of GPUs, by the rule of NVIDIA's plugin: higher is better together. Links
 * over an NVSwitch count as links of the pair. */
uint16_t nvidia_gpus_weight(const struct nvidia_gpus *gpus, const char *a, const char *b);

/* Call it when a question about these GPUs, or a watch of them, begins. */
void nvidia_gpus_begin(struct nvidia_gpus *gpus, const struct json_strs *addresses, bool watch);

/* The same for a question that reads the GPUs: its answer has nothing that happens from now on. */
void nvidia_gpus_begin_look(struct nvidia_gpus *gpus, const struct json_strs *addresses);

/* What is known of these GPUs may be outdated: read them again. NULL: all. */
void nvidia_gpus_doubt(struct nvidia_gpus *gpus, const struct json_strs *addresses);

/* Process a line of hostdev-nvml, read at @now_ms. */
void nvidia_gpus_take(struct nvidia_gpus *gpus, const struct xid_policy *policy,
		      const struct nvml_line *line, uint64_t now_ms);

/* The answer about these GPUs is complete: those that it does not mention are unhealthy. */
void nvidia_gpus_end(struct nvidia_gpus *gpus, const struct json_strs *addresses, uint64_t now_ms);

/* The question to release these GPUs, or to attach them (@attach), has ended. @message: why there
 * is no answer; NULL: it is complete. */
void nvidia_gpus_end_release(struct nvidia_gpus *gpus, const struct json_strs *addresses,
			     bool attach, const char *message, uint64_t now_ms);

/* The driver does not answer at all, so these GPUs count as released. */
void nvidia_gpus_cannot_release(struct nvidia_gpus *gpus, const struct json_strs *addresses);

/* The answer about their topology is complete. */
void nvidia_gpus_placed(struct nvidia_gpus *gpus, const struct json_strs *addresses);

/* There is no answer, for a reason that concerns all of these GPUs: they are unhealthy. */
void nvidia_gpus_fail(struct nvidia_gpus *gpus, const struct json_strs *addresses,
		      const char *message, uint64_t now_ms);

/* A call on the GPU at @address hung. NULL: on any of @addresses, or on none of them. */
void nvidia_gpus_hung(struct nvidia_gpus *gpus, const char *address,
		      const struct json_strs *addresses, uint64_t now_ms);

/* These GPUs were not watched for a while: probe them. */
void nvidia_gpus_missed(struct nvidia_gpus *gpus, const struct json_strs *addresses);

/*
 * nvidia_gpus: the GPUs of this node that NVIDIA's driver has, what hostdev-nvml said of them, and
 * whether they are healthy. No I/O and no clock.
 *
 * A GPU is known by its PCI address; its UUID tells whether it is still the same one. What happens
 * to one concerns no other. An unhealthy GPU is probed every GPU_PROBE_MS, and is healthy again
 * after two probes in a row without a fault. If it falls ill again within GPU_RELAPSE_MS, it takes
 * twice as many each time.
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
	NVIDIA_GPUS_MAX = 64, /* as many as hostdev-nvml takes */
	GPU_PROBE_MS = 5000,
	GPU_URGENT_MS = 1000,  /* between probes of a GPU that something happened to */
	GPU_SILENT_MS = 60000, /* until a GPU that hung is asked again */
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
	int64_t clique; /* of that */
	char *uuid;     /* NULL: not told yet */
	char *name;
	char *trouble; /* why it is not healthy; NULL: it is, or nothing is known of it */
	/* "the PCIDeviceClaim 'n1-000061000' takes it": it is not offered; NULL: none does */
	char *claim;
	bool vacant;     /* no container has it: the claim may take it               */
	bool released;   /* the driver has let it go for the claim, or cannot say so */
	bool altered;    /* its drain state or persistence mode is to be restored    */
	bool persistent; /* it was in persistence mode before that                   */
	char *refusal;   /* why the driver does not let it go; NULL: not told        */
	bool looked;     /* an inventory has told what it is       */
	bool placed;     /* the topology has told how it is linked */
	bool silent;     /* a call on it hung: it is asked alone   */
	bool unwatched;  /* a watch has lost it                    */
	bool urgent;     /* to be probed although it is healthy    */
	bool doubted;    /* to be looked at again                  */
	bool has_mig;    /* it is in MIG mode                      */
	bool can_mig;    /* it has such a mode                     */
	struct nvidia_migs migs;
	bool told_ill;     /* for the owner's log                    */
	uint64_t ask_ms;   /* no question about it before            */
	uint64_t asked_ms; /* when the last one was answered        */

	/* Of the answer, and of the watch, that is being read. */
	bool answered;
	bool watched;
	char *problem;
	struct nvidia_migs told_migs;

	int nvswitch_links;
	unsigned clean;    /* probes in a row without a fault */
	unsigned relapses; /* since it was well for long      */
	uint64_t well_ms;  /* since when it is healthy again; 0: it was never ill */
};

struct nvidia_gpus {
	struct nvidia_gpu *items; /* by address */
	size_t len, cap;
	bool changed;      /* what a kubelet is told, or why; the owner sets it back */
	uint16_t *weights; /* of pairs, a row of len for each */
};

/* A card that the kernel says NVIDIA's driver has. Borrowed. */
struct nvidia_card {
	const char *address;
	int numa_node;
	unsigned pci_class; /* 0x030200; 0: unknown */
};

/* Release; there are none again. */
void nvidia_gpus_done(struct nvidia_gpus *gpus);

/* These are the cards now, by address. What is known of those that stay is kept. True if any came
 * or went. */
bool nvidia_gpus_set(struct nvidia_gpus *gpus, const struct nvidia_card *cards, size_t len);

/* The claim that takes the card at @address (NULL: none, or none any more), which is not watched
 * or probed until that changes. True if it is another than before. */
bool nvidia_gpus_set_claim(struct nvidia_gpus *gpus, const char *address, const char *claim);

/* Has no container the GPU at @address? */
void nvidia_gpus_set_vacant(struct nvidia_gpus *gpus, const char *address, bool vacant);

/* The GPU at @address was released earlier, and @persistent: was in persistence mode before. It is
 * neither offered nor asked anything before the driver has taken it back. */
void nvidia_gpus_set_altered(struct nvidia_gpus *gpus, const char *address, bool persistent);

/* Why no container gets it, whatever its devices are; NULL: no such reason. */
const char *nvidia_gpu_trouble(const struct nvidia_gpu *gpu);

/* NULL: there is none. */
struct nvidia_gpu *nvidia_gpus_at(const struct nvidia_gpus *gpus, const char *address);
const struct nvidia_gpu *nvidia_gpus_find(const struct nvidia_gpus *gpus, const char *uuid);

/* Has a GPU other than @gpu the MIG device @uuid? */
bool nvidia_gpus_has_mig(const struct nvidia_gpus *gpus, const struct nvidia_gpu *gpu,
			 const char *uuid);

/* Everything that can be is known: each GPU was looked at or has a trouble. */
bool nvidia_gpus_are_known(const struct nvidia_gpus *gpus);

/* How much better the GPUs with these UUIDs are together than apart, as NVIDIA's plugin scores
 * pairs; links over an NVSwitch count as those of a pair. */
uint16_t nvidia_gpus_weight(const struct nvidia_gpus *gpus, const char *a, const char *b);

/* A question about these GPUs begins, or a watch of them. */
void nvidia_gpus_begin(struct nvidia_gpus *gpus, const struct json_strs *addresses, bool watch);

/* The question is what they are: what happens from now on is not in its answer. */
void nvidia_gpus_begin_look(struct nvidia_gpus *gpus, const struct json_strs *addresses);

/* What is known of these may be wrong: they are to be looked at again. NULL: all. */
void nvidia_gpus_doubt(struct nvidia_gpus *gpus, const struct json_strs *addresses);

/* A line of a child at @now_ms. */
void nvidia_gpus_take(struct nvidia_gpus *gpus, const struct xid_policy *policy,
		      const struct nvml_line *line, uint64_t now_ms);

/* The answer about these GPUs is whole: those that it did not tell of are ill. */
void nvidia_gpus_end(struct nvidia_gpus *gpus, const struct json_strs *addresses, uint64_t now_ms);

/* The driver was asked to release these, or (@attach) to take them back. @message: why there is no
 * answer; NULL: there is one. */
void nvidia_gpus_end_release(struct nvidia_gpus *gpus, const struct json_strs *addresses,
			     bool attach, const char *message, uint64_t now_ms);

/* The driver does not answer at all, so it cannot be asked to release these: it need not. */
void nvidia_gpus_cannot_release(struct nvidia_gpus *gpus, const struct json_strs *addresses);

/* The answer to a question about their topology is. */
void nvidia_gpus_placed(struct nvidia_gpus *gpus, const struct json_strs *addresses);

/* There is no answer, for a reason that is not one GPU's: they are ill. */
void nvidia_gpus_fail(struct nvidia_gpus *gpus, const struct json_strs *addresses,
		      const char *message, uint64_t now_ms);

/* A call on the GPU at @address hung. NULL: it is not known on which of @addresses, or on none. */
void nvidia_gpus_hung(struct nvidia_gpus *gpus, const char *address,
		      const struct json_strs *addresses, uint64_t now_ms);

/* Nobody watched these for a while: they are to be probed. */
void nvidia_gpus_missed(struct nvidia_gpus *gpus, const struct json_strs *addresses);

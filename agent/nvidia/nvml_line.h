/*
 * nvml_line: parses a line of hostdev-nvml. The lines are described in agent/nvml: reply.h,
 * inventory.h, topology.h, release.h and watch.h.
 *
 * No I/O. Everything is validated, because the child runs a foreign library next to failing
 * hardware. A line without a member that its kind needs, or with a malformed number or address, is
 * rejected. Texts for people are sanitized and shortened. Lines of unknown kinds are ignored.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum {
	NVML_LINE_MAX = 64 << 10,
	NVML_LINE_UUID_MAX = 95,
	NVML_LINE_NAME_MAX = 95,
	NVML_LINE_MESSAGE_MAX = 400,
	NVML_LINE_PROFILE_MAX = 31,
};

enum nvml_line_kind {
	NVML_LINE_OTHER,     /* of a newer child: pass it over                              */
	NVML_LINE_AT,        /* the next calls are on this GPU (address or index)           */
	NVML_LINE_SYSTEM,    /* driver, nvml, cuda, gpus                                    */
	NVML_LINE_GPU,       /* address, uuid and what is known of it                       */
	NVML_LINE_MIG,       /* address of its GPU, uuid, gi, ci and what is known of it    */
	NVML_LINE_PAIR,      /* address, peer, level, nvlinks                               */
	NVML_LINE_SWITCH,    /* address, nvlinks                                            */
	NVML_LINE_PROBE,     /* address, uuid, well and why not                             */
	NVML_LINE_RELEASING, /* address, persistence: what is changed next                  */
	NVML_LINE_RELEASED,  /* address, drained: the driver has let it go                  */
	NVML_LINE_ATTACHED,  /* address: the driver has taken it back                       */
	NVML_LINE_PROBLEM,   /* code, message, function; of a GPU (address or index) or of none */
	NVML_LINE_FAILED,    /* instead of an end: code, message                            */
	NVML_LINE_END,       /* the answer is whole; of a watch: no GPU is left             */
	NVML_LINE_WATCHED,   /* a GPU of the watch: address, uuid, events, well             */
	NVML_LINE_WATCHING,  /* gpus                                                        */
	/* type, data; address and uuid if the GPU is known; gi, ci of a MIG device */
	NVML_LINE_EVENT,
	NVML_LINE_LOST, /* address, uuid, code, message                                */
	NVML_LINE_IDLE, /* the watch lives                                             */
};

enum nvml_event_type {
	NVML_EVENT_TYPE_OTHER,
	NVML_EVENT_TYPE_XID,
	NVML_EVENT_TYPE_DOUBLE_BIT_ECC,
	NVML_EVENT_TYPE_MIG,
	NVML_EVENT_TYPE_UNAVAILABLE,
	NVML_EVENT_TYPE_RECOVERY,
};

/* Texts are its own; NULL, -1 and false where the line says nothing. */
struct nvml_line {
	enum nvml_line_kind kind;
	enum nvml_event_type event;
	int64_t number; /* of the question; 0: it answers none */

	char *address;
	char *peer;
	char *uuid;
	char *name;
	char *driver;
	char *nvml;
	char *cluster;
	char *profile; /* "1g.5gb", "1g.5gb+me" */
	char *function;
	char *message;

	int index;
	int minor;
	int brand;
	int architecture;
	int compute_major;
	int compute_minor;
	int cuda;
	int gpus;
	int slot;
	int gi;
	int ci;
	int gpu_slices;
	int compute_slices;
	int multiprocessors;
	int copy_engines;
	int decoders;
	int encoders;
	int jpeg_engines;
	int ofa_engines;
	int level;
	int nvlinks;
	int code;
	int64_t clique;
	int64_t memory_mib;
	int64_t events;
	int64_t data;
	int64_t recovery;

	bool persistence;
	bool drained;
	bool mig;
	bool mig_capable;
	bool mig_pending;
	bool remap_pending;
	bool remap_failed;
	bool well;

	char *kind_text; /* as they stand in the line */
	char *type_text;
};

/* Read a line without its newline. 0, or ERR_INVALID with nothing to release. */
int nvml_line_parse(const char *text, size_t len, struct nvml_line *ret_line, struct err *err);
void nvml_line_done(struct nvml_line *line);

/*
 * nvml_run: runs of hostdev-nvml: a question with its answer, or a watch.
 *
 * A call of NVIDIA's library can hang for as long as a failing GPU lets it. A child that prints
 * nothing until its deadline is killed; every line begins the deadline again, so that it is one for
 * each GPU. The child says which GPU it calls next, so the one that hangs is known. A killed child
 * that the kernel does not let go is kept, and with NVML_KILLED_MAX of them no other child is
 * started.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct json_strs;
struct nvml_run;
struct nvml_line;
struct nvml_program;
struct uv_loop_s;

enum {
	NVML_KILLED_MAX = 4,
	/* A watch prints a line at least every 5 s (agent/nvml/watch.h). */
	NVML_WATCH_SILENT_MS = 11000,
};

enum nvml_verb {
	NVML_ASK_INVENTORY,
	NVML_ASK_TOPOLOGY,
	NVML_ASK_PROBE,
	NVML_ASK_RELEASE,
	NVML_ASK_ATTACH,
	NVML_WATCH,
};

enum nvml_end_kind {
	NVML_ANSWERED, /* the answer is whole; of a watch: no GPU is left  */
	NVML_FAILED,   /* it said why it has no answer: of no single GPU   */
	NVML_SILENT,   /* it missed the deadline and was killed            */
	NVML_DIED,     /* it ended without an answer, or printed something else */
};

/* Valid during the call. */
struct nvml_end {
	enum nvml_end_kind kind;
	const char *address; /* SILENT: the GPU that it called; NULL: not known, or of none */
	const char *message; /* why; NULL: ANSWERED                                         */
};

struct nvml_run_spec {
	enum nvml_verb verb;
	/* Of the GPUs; at least one, at most NVML_ADDRESSES_MAX */
	const struct json_strs *addresses;
	bool persistence; /* ATTACH: turn it on */
	uint64_t deadline_ms;
	/* Not "at", "end" and "failed". May stop the child. */
	void (*on_line)(void *arg, const struct nvml_line *line);
	/* Once, never before the start returns, and not after a stop. The child is gone then. */
	void (*on_end)(void *arg, const struct nvml_end *end);
	void *arg;
};

enum { NVML_ADDRESSES_MAX = 64 }; /* as many as hostdev-nvml takes */

/* @path of the program; @driver_root: where it looks for the library, NULL: where the loader does.
 * Both are copied. */
struct nvml_program *nvml_program_new(struct uv_loop_s *loop, const char *path,
				      const char *driver_root);
/* The children have ended or were stopped. Takes NULL, returns NULL. The loop must run once
 * more. */
struct nvml_program *nvml_program_free(struct nvml_program *program);

/* Borrows nothing of @spec. Errors: those of helper_run_start(); -EBUSY: too many killed ones are
 * there. */
int nvml_run_start(struct nvml_program *program, const struct nvml_run_spec *spec,
		   struct nvml_run **ret_run, struct err *err);
/* End it without a callback. Takes NULL, returns NULL. */
struct nvml_run *nvml_run_stop(struct nvml_run *run);
int nvml_run_pid(const struct nvml_run *run);

/*
 * ask: the role of hostdev-nvml that answers questions, one after the other.
 *
 * A question is a line of standard input, its answer lines of standard output (reply.h):
 *
 *	{"n":1,"ask":"inventory"}
 *	{"n":2,"ask":"probe","gpus":["0000:3b:00.0"]}
 *	{"n":3,"ask":"attach","gpus":["0000:3b:00.0"],"persistence":true}
 *
 * "ask" is inventory, topology, probe, release or attach; "n" is a number from 1 on, which the
 * answer repeats; "gpus" are PCI addresses, none for all GPUs that the library lists (for release
 * and attach, which release.h describes, for none); "persistence" is for attach. The library is
 * initialized for each question and shut down after it. So between two questions this process holds
 * no GPU, a driver can be unloaded and comes back, and handles from before a reset are not used
 * again. A library whose version is not the kernel module's any more (code 18) stays so: only a new
 * process opens the new file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/nvml/gpus.h"

struct err;

enum { QUESTION_SIZE_MAX = 16 << 10 };

enum question_verb {
	QUESTION_INVENTORY,
	QUESTION_TOPOLOGY,
	QUESTION_PROBE,
	QUESTION_RELEASE,
	QUESTION_ATTACH,
};

struct question {
	int64_t number;
	enum question_verb verb;
	struct gpu_addresses addresses;
	bool persistence;
};

/* Read a question. ERR_INVALID if it is none; ret_question->number is set if it had one, else 0. */
int question_parse(const char *line, size_t len, struct question *ret_question, struct err *err);

/* Answer questions until standard input ends; lines go to @fd. The exit status of the program. */
int ask_run(const struct nvml_place *place, int fd);

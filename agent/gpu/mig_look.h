/*
 * mig_look: how one card is divided into MIG instances, put together from nvidia-smi's answers. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/gpu/smi_table.h"
#include "base/str.h"

struct err;

/* The questions, in this order; after the first, a card without MIG is asked nothing more. */
enum mig_question { MIG_ASK_MODE, MIG_ASK_PROFILES, MIG_ASK_INSTANCES, MIG_ASK_COMPUTES };
enum { MIG_QUESTIONS = 4, MIG_ARGS_MAX = 8 };

struct mig_look {
	bool known;
	enum smi_mode mode;
	struct smi_profiles profiles;
	struct smi_instances instances;
	struct smi_computes computes;
};

/* nvidia-smi's arguments for @question of the card at @address; ends in NULL. */
void mig_look_args(enum mig_question question, const char *address,
		   const char *ret_args[MIG_ARGS_MAX]);

/*
 * Take the answer to @question. @failed: nvidia-smi's exit status was not 0. True if there is another
 * question; false: the look is known, or with @err set (ERR_RETRY, -EBADMSG) the answer cannot be used.
 */
bool mig_look_take(struct mig_look *look, enum mig_question question, const char *text, size_t len,
		   bool failed, struct err *err);

void mig_look_done(struct mig_look *look);

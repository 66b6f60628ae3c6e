/*
 * smi_table: what nvidia-smi prints of a card's MIG mode, profiles and instances, and how the card
 * is divided (struct mig_look) by all of that.
 *
 *	|   0  MIG 1g.5gb        19     7/7        4.75       No     14     0     0   |
 *
 * Pure. A table's rows begin with the number of a card; of each the columns that we know are read,
 * from left to right, whatever follows them. What is no such row is passed over. Sizes are bounded,
 * names are clean: the text is a program's that we do not know.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/array.h"

struct err;

enum {
	SMI_TEXT_MAX = 256 << 10, /* bytes of one answer that are looked at                   */
	SMI_ROWS_MAX = 64,        /* of one table; more are left out                          */
	SMI_NAME_SIZE = 64,       /* of a profile, with its end; a longer one's row is left out */
	SMI_NUMBER_MAX = 99999,   /* larger numbers are none                                  */
};

enum smi_mode {
	SMI_MODE_UNKNOWN,  /* the answer says nothing that we know         */
	SMI_MODE_NONE,     /* "[N/A]": the card cannot be divided         */
	SMI_MODE_DISABLED, /* it can, and is not                           */
	SMI_MODE_ENABLED,
};

/* One row of `nvidia-smi mig -lgip`. */
struct smi_profile {
	char name[SMI_NAME_SIZE]; /* "MIG 1g.5gb" */
	int id;
	int available, total; /* instances: that can be made now; at most */
	int memory_mib;       /* of one instance; 0: not told             */
};

/* One row of `nvidia-smi mig -lgi`. */
struct smi_instance {
	char name[SMI_NAME_SIZE];
	int profile; /* the id of its profile */
	int id;
	int start, size; /* where it is in the card's memory slices; -1: not told */
};

/* One row of `nvidia-smi mig -lci`. */
struct smi_compute {
	int instance; /* the GPU instance that it is in */
	int id;
};

struct smi_profiles {
	struct smi_profile *items;
	size_t len;
	size_t cap;
};

struct smi_instances {
	struct smi_instance *items;
	size_t len;
	size_t cap;
};

struct smi_computes {
	struct smi_compute *items;
	size_t len;
	size_t cap;
};

/* What `--query-gpu=mig.mode.current` says, with or without its header. */
enum smi_mode smi_mode_parse(const char *text, size_t len);

/* Append the rows of a table to a list; the caller releases it with array_done(). */
void smi_profiles_parse(const char *text, size_t len, struct smi_profiles *profiles);
void smi_instances_parse(const char *text, size_t len, struct smi_instances *instances);
void smi_computes_parse(const char *text, size_t len, struct smi_computes *computes);

/* Does the answer say that there is no instance? Then nvidia-smi's exit status is not 0 all the
 * same. */
bool smi_says_none(const char *text, size_t len);

/* --- how a card is divided --- */

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
 * Take the answer to @question. @failed: nvidia-smi's exit status was not 0. True if there is
 * another question; false: the look is known, or with @err set (ERR_RETRY, -EBADMSG) the answer
 * cannot be used.
 */
bool mig_look_take(struct mig_look *look, enum mig_question question, const char *text, size_t len,
		   bool failed, struct err *err);

void mig_look_done(struct mig_look *look);

#include "agent/helper/sys/job.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "agent/helper/sys/devpath.h"
#include "agent/helper/sys/value.h"
#include "agent/helper/sys/words.h"
#include "base/array.h"
#include "base/device_identity.h"
#include "base/err.h"

static int add_function(void *object, const struct word *word, struct err *err)
{
	struct job *job = object;

	if (job->len == JOB_FUNCTIONS_MAX)
		return err_set(err, ERR_INVALID, -EINVAL, "word '%s': more than %d functions",
			       word->text, JOB_FUNCTIONS_MAX);
	for (size_t i = 0; i < job->len; i++) {
		if (strcmp(job->items[i].address, word->value) == 0)
			return err_set(err, ERR_INVALID, -EINVAL, "word '%s' is there twice",
				       word->text);
	}
	array_add(job)->address = word->value;
	return 0;
}

static void *last_function(void *object)
{
	struct job *job = object;

	return &job->items[job->len - 1];
}

/* clang-format off */
#define WORD(name, needed, valid, text) \
	.flags = WORD_OF_ITEM | (needed), .offset = offsetof(struct job_function, name), \
	.is_valid = (valid), .form = (text)

static const struct word_row rows[] = {
	{ "address", WORD_BEGINS | WORD_NEEDED, .is_valid = pci_address_valid,
	  .form = "a PCI address such as 0000:01:00.0", .take = add_function },
	{ "id",            WORD(id,            WORD_NEEDED, value_is_id,
				"vendor and device such as 8086:10d3") },
	{ "serial",        WORD(serial,        0,           value_is_serial,
				"a serial such as 00-11-22-33-44-55-66-77") },
	{ "identity",      WORD(identity,      0,           device_identity_valid,
				"an identity such as mac=52:54:00:12:34:56,slot=3") },
	{ "native",        WORD(native,        0,           value_is_native,
				"a driver's name, or nothing") },
	{ "driver",        WORD(driver,        WORD_NEEDED, value_is_driver, "a driver's name") },
	{ "claim",         WORD(claim,         WORD_NEEDED, value_is_name,   "a claim's name") },
	{ "uid",           WORD(uid,           WORD_NEEDED, value_is_name,   "a claim's uid") },
	{ "release",       WORD(release,       0,           value_is_release, "none") },
	{ "allow-unknown", WORD(allow_unknown, 0,           value_is_one,          "1") },
};

static const struct words_table table = {
	.rows = rows, .len = ARRAY_LEN(rows), .last_item = last_function,
	.before = "stands before any 'address='",
};
/* clang-format on */

int job_parse(const char *group, char **words, struct job *ret_job, struct err *err)
{
	struct job job = { .group = group };
	int r;

	if (!value_is_group(group, strlen(group)))
		return err_set(err, ERR_INVALID, -EINVAL,
			       "group '%s' must be a number, or '-' for none", group);
	r = words_parse(&table, words, &job, err);
	if (r < 0) {
		job_done(&job);
		return r;
	}
	*ret_job = job;
	return 0;
}

void job_done(struct job *job)
{
	array_done(job);
}

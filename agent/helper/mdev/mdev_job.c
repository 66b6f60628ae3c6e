#include "agent/helper/mdev/mdev_job.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "agent/helper/sys/mdev.h"
#include "agent/helper/sys/value.h"
#include "base/array.h"
#include "base/err.h"

typedef bool value_fn(const char *text, size_t len);

/* clang-format off */
static const struct word_row {
	const char *key;
	size_t offset;
	value_fn *is_valid;
	bool needed;
	const char *form; /* for messages */
} rows[] = {
	{ "parent", offsetof(struct mdev_job, parent), mdev_name_valid, true,  "a parent's name such as 0000:3b:00.0" },
	{ "type",   offsetof(struct mdev_job, type),   mdev_name_valid, false, "a type's id such as nvidia-222" },
	{ "owner",  offsetof(struct mdev_job, owner),  value_is_name,   true,  "a word" },
};
/* clang-format on */

static const char **field(struct mdev_job *job, const struct word_row *row)
{
	return (const char **)(void *)((char *)job + row->offset);
}

static int add_uuid(struct mdev_job *job, const char *word, const char *uuid, struct err *err)
{
	if (!mdev_uuid_valid(uuid, strlen(uuid)))
		return err_set(err, ERR_INVALID, -EINVAL, "word '%s': 'uuid' must be a UUID", word);
	if (job->len == MDEV_JOB_MAX)
		return err_set(err, ERR_INVALID, -EINVAL, "word '%s': more than %d instances", word,
			       MDEV_JOB_MAX);
	for (size_t i = 0; i < job->len; i++) {
		if (strcmp(job->items[i], uuid) == 0)
			return err_set(err, ERR_INVALID, -EINVAL, "word '%s' is there twice", word);
	}
	*array_add(job) = uuid;
	return 0;
}

static int take_word(struct mdev_job *job, const char *word, struct err *err)
{
	const char *equals = strchr(word, '=');
	size_t len = equals ? (size_t)(equals - word) : 0;

	if (len == strlen("uuid") && strncmp(word, "uuid", len) == 0)
		return add_uuid(job, word, equals + 1, err);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char **place = field(job, &rows[i]);

		if (!equals || strlen(rows[i].key) != len || strncmp(rows[i].key, word, len) != 0)
			continue;
		if (*place)
			return err_set(err, ERR_INVALID, -EINVAL, "word '%s' is one '%s=' too many",
				       word, rows[i].key);
		if (!rows[i].is_valid(equals + 1, strlen(equals + 1)))
			return err_set(err, ERR_INVALID, -EINVAL, "word '%s': '%s' must be %s",
				       word, rows[i].key, rows[i].form);
		*place = equals + 1;
		return 0;
	}
	return err_set(err, ERR_INVALID, -EINVAL, "word '%s' is not known; see --help", word);
}

static int take_words(struct mdev_job *job, char **words, struct err *err)
{
	for (; *words; words++) {
		if (take_word(job, *words, err) < 0)
			return -EINVAL;
	}
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].needed && !*field(job, &rows[i]))
			return err_set(err, ERR_INVALID, -EINVAL, "a word '%s=' is needed",
				       rows[i].key);
	}
	if (job->len == 0)
		return err_set(err, ERR_INVALID, -EINVAL, "a word 'uuid=' is needed");
	return 0;
}

int mdev_job_parse(char **words, struct mdev_job *ret_job, struct err *err)
{
	struct mdev_job job = { 0 };
	int r = take_words(&job, words, err);

	if (r < 0) {
		mdev_job_done(&job);
		return r;
	}
	*ret_job = job;
	return 0;
}

void mdev_job_done(struct mdev_job *job)
{
	array_done(job);
}

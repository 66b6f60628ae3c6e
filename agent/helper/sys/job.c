#include "agent/helper/sys/job.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "agent/helper/sys/devpath.h"
#include "agent/helper/sys/value.h"
#include "base/array.h"
#include "base/device_identity.h"
#include "base/err.h"

typedef bool value_fn(const char *text, size_t len);

static bool is_one(const char *text, size_t len)
{
	return len == 1 && text[0] == '1';
}

/* clang-format off */
static const struct word_row {
	const char *key;
	size_t offset;
	value_fn *is_valid;
	bool needed;
	const char *form; /* for messages */
} rows[] = {
	{ "address", offsetof(struct job_function, address), pci_address_valid, true,  "a PCI address such as 0000:01:00.0" },
	{ "id",      offsetof(struct job_function, id),      value_is_id,       true,  "vendor and device such as 8086:10d3" },
	{ "serial",  offsetof(struct job_function, serial),  value_is_serial,   false, "a serial such as 00-11-22-33-44-55-66-77" },
	{ "identity", offsetof(struct job_function, identity), device_identity_valid, false, "an identity such as mac=52:54:00:12:34:56,slot=3" },
	{ "native",  offsetof(struct job_function, native),  value_is_native,     false, "a driver's name, or nothing" },
	{ "driver",  offsetof(struct job_function, driver),  value_is_driver,   true,  "a driver's name" },
	{ "claim",   offsetof(struct job_function, claim),   value_is_name,     true,  "a claim's name" },
	{ "uid",     offsetof(struct job_function, uid),     value_is_name,     true,  "a claim's uid" },
	{ "release", offsetof(struct job_function, release), value_is_release, false, "none" },
	{ "allow-unknown", offsetof(struct job_function, allow_unknown), is_one, false, "1" },
};
/* clang-format on */

static const char **field(struct job_function *function, const struct word_row *row)
{
	return (const char **)(void *)((char *)function + row->offset);
}

static const struct word_row *find_row(const char *word, size_t key_len)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (strlen(rows[i].key) == key_len && memcmp(rows[i].key, word, key_len) == 0)
			return &rows[i];
	}
	return NULL;
}

static bool has_address(const struct job *job, const char *address)
{
	for (size_t i = 0; i < job->len; i++) {
		if (strcmp(job->items[i].address, address) == 0)
			return true;
	}
	return false;
}

/* Is all there that the last function needs? */
static int check_last(const struct job *job, struct err *err)
{
	struct job_function *function = job->len ? &job->items[job->len - 1] : NULL;

	for (size_t i = 0; function && i < ARRAY_LEN(rows); i++) {
		if (rows[i].needed && !*field(function, &rows[i]))
			return err_set(err, ERR_INVALID, -EINVAL,
				       "no word '%s=' after 'address=%s'", rows[i].key,
				       function->address);
	}
	return 0;
}

static int begin_function(struct job *job, const char *word, const char *address, struct err *err)
{
	if (check_last(job, err) < 0)
		return -EINVAL;
	if (job->len == JOB_FUNCTIONS_MAX)
		return err_set(err, ERR_INVALID, -EINVAL, "word '%s': more than %d functions", word,
			       JOB_FUNCTIONS_MAX);
	if (has_address(job, address))
		return err_set(err, ERR_INVALID, -EINVAL, "word '%s' is there twice", word);
	array_add(job)->address = address;
	return 0;
}

static int take_word(struct job *job, const char *word, struct err *err)
{
	const char *equals = strchr(word, '=');
	const struct word_row *row = equals ? find_row(word, (size_t)(equals - word)) : NULL;
	const char *value = equals ? equals + 1 : NULL;
	const char **place;

	if (!row)
		return err_set(err, ERR_INVALID, -EINVAL, "word '%s' is not known; see --help",
			       word);
	if (!row->is_valid(value, strlen(value)))
		return err_set(err, ERR_INVALID, -EINVAL, "word '%s': '%s' must be %s", word,
			       row->key, row->form);
	if (row == &rows[0])
		return begin_function(job, word, value, err);
	if (job->len == 0)
		return err_set(err, ERR_INVALID, -EINVAL, "word '%s' stands before any 'address='",
			       word);
	place = field(&job->items[job->len - 1], row);
	if (*place)
		return err_set(err, ERR_INVALID, -EINVAL, "word '%s' is one '%s=' too many", word,
			       row->key);
	*place = value;
	return 0;
}

static int take_words(struct job *job, char **words, struct err *err)
{
	for (; *words; words++) {
		if (take_word(job, *words, err) < 0)
			return -EINVAL;
	}
	if (job->len == 0)
		return err_set(err, ERR_INVALID, -EINVAL, "a word 'address=' is needed");
	return check_last(job, err);
}

int job_parse(const char *group, char **words, struct job *ret_job, struct err *err)
{
	struct job job = { .group = group };
	int r;

	if (!value_is_group(group, strlen(group)))
		return err_set(err, ERR_INVALID, -EINVAL,
			       "group '%s' must be a number, or '-' for none", group);
	r = take_words(&job, words, err);
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

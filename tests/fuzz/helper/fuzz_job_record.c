/* fuzz_job_record: any bytes as the text of a record of each kind, and, one on each line, as the
 * words of jobs. What is taken can be written and read back, and can be no other path or JSON than
 * its own. */
#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/helper/mdev/mdev_change.h"
#include "agent/helper/record/record.h"
#include "agent/helper/sys/devpath.h"
#include "agent/helper/sys/job.h"
#include "agent/helper/sys/mdev.h"
#include "agent/helper/vf/vf_job.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORDS_MAX = 64 };

static void check_value(const char *value)
{
	assert(!value || !strpbrk(value, "/\"\\\n ,{}"));
}

static void check_record(const char *text, size_t len)
{
	auto_device_record struct device_record record = { 0 };
	auto_device_record struct device_record again = { 0 };
	auto_str struct str out = STR_INIT;
	struct err err = { 0 };

	if (record_parse(&device_records, NULL, text, len, &record, &err) < 0) {
		assert(err.code == -EBADMSG && err.msg[0]);
		return;
	}
	assert(pci_address_valid(record.address, strlen(record.address)));
	check_value(record.claim);
	check_value(record.uid);
	check_value(record.driver);
	check_value(record.native);
	assert(record_check(&device_records, &record, &err) == 0);
	record_format(&device_records, &record, &out);
	assert(record_parse(&device_records, NULL, out.buf, out.len, &again, &err) == 0);
	assert(strcmp(again.address, record.address) == 0);
	assert(strcmp(again.uid, record.uid) == 0);
	assert(!again.native == !record.native);
}

static void check_mdev_record(const char *text, size_t len)
{
	auto_mdev_record struct mdev_record record = { 0 };
	auto_mdev_record struct mdev_record again = { 0 };
	auto_str struct str out = STR_INIT;
	struct err err = { 0 };

	if (record_parse(&mdev_records, NULL, text, len, &record, &err) < 0) {
		assert(err.code == -EBADMSG && err.msg[0]);
		return;
	}
	assert(mdev_uuid_valid(record.uuid, strlen(record.uuid)));
	assert(!strpbrk(record.parent, "/\"\\\n"));
	check_value(record.owner);
	assert(record_check(&mdev_records, &record, &err) == 0);
	record_format(&mdev_records, &record, &out);
	assert(record_parse(&mdev_records, record.uuid, out.buf, out.len, &again, &err) == 0);
	assert(strcmp(again.type, record.type) == 0);
}

static void check_autoprobe_record(const char *text, size_t len)
{
	static const char address[] = "0000:01:00.0";
	auto_autoprobe_record struct autoprobe_record record = { 0 };
	auto_autoprobe_record struct autoprobe_record again = { 0 };
	auto_str struct str out = STR_INIT;
	struct err err = { 0 };

	if (record_parse(&autoprobe_records, address, text, len, &record, &err) < 0) {
		assert(err.code == -EBADMSG && err.msg[0]);
		return;
	}
	assert(strcmp(record.was, "on") == 0 || strcmp(record.was, "off") == 0);
	check_value(record.boot);
	assert(record_check(&autoprobe_records, &record, &err) == 0);
	record_format(&autoprobe_records, &record, &out);
	/* What reads the file takes its newline off. */
	assert(out.len == len + 1 && memcmp(out.buf, text, len) == 0);
	assert(record_parse(&autoprobe_records, address, out.buf, len, &again, &err) == 0);
	assert(strcmp(again.was, record.was) == 0);
}

static void split_words(char *text, char *words[WORDS_MAX + 1])
{
	memset(words, 0, sizeof(words[0]) * (WORDS_MAX + 1));
	for (size_t i = 0; i < WORDS_MAX && text; i++) {
		words[i] = text;
		text = strchr(text, '\n');
		if (text)
			*text++ = '\0';
	}
}

static void check_mdev_job(char **words)
{
	struct mdev_job job = { 0 };
	struct err err = { 0 };

	if (mdev_job_parse(words, &job, &err) < 0) {
		assert(err.code == -EINVAL && err.msg[0]);
		return;
	}
	assert(job.parent && job.owner && job.len > 0 && job.len <= WORDS_MAX);
	for (size_t i = 0; i < job.len; i++)
		assert(mdev_uuid_valid(job.items[i], strlen(job.items[i])));
	mdev_job_done(&job);
}

static void check_vf_job(char **words)
{
	struct vf_job job = { 0 };
	struct err err = { 0 };

	if (vf_job_parse(words, &job, &err) < 0) {
		assert(err.code == -EINVAL && err.msg[0]);
		return;
	}
	assert(job.address && job.id && job.count >= -1 && job.count <= VF_INDEX_MAX + 1);
	for (size_t i = 1; i < job.settings.len; i++)
		assert(job.settings.items[i - 1].index < job.settings.items[i].index);
	vf_job_done(&job);
}

static void check_job(char **words)
{
	struct job job = { 0 };
	struct err err = { 0 };

	if (job_parse("12", words, &job, &err) < 0) {
		assert(err.code == -EINVAL && err.msg[0]);
		return;
	}
	assert(job.len > 0 && job.len <= WORDS_MAX);
	for (size_t i = 0; i < job.len; i++) {
		const struct job_function *function = &job.items[i];

		assert(pci_address_valid(function->address, strlen(function->address)));
		assert(function->id && function->driver && function->claim && function->uid);
		check_value(function->driver);
		check_value(function->claim);
		check_value(function->native);
	}
	job_done(&job);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* No terminator, so that reading past the end is seen. */
	auto_free char *text = xmalloc(size);
	auto_free char *lines = xmalloc(size + 1);
	char *words[WORDS_MAX + 1];

	if (size > 0) {
		memcpy(text, data, size);
		memcpy(lines, data, size);
	}
	lines[size] = '\0';
	check_record(text, size);
	check_mdev_record(text, size);
	check_autoprobe_record(text, size);
	split_words(lines, words);
	check_job(words);
	check_mdev_job(words);
	check_vf_job(words);
	return 0;
}

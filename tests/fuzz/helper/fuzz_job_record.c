/* fuzz_job_record: any bytes as a record's text, and, one on each line, as the words of a job. What is
 * taken can be written and read back, and can be no other path or JSON than its own. */
#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/helper/record/record.h"
#include "agent/helper/sys/devpath.h"
#include "agent/helper/sys/job.h"
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

	if (record_parse(&device_records, text, len, &record, &err) < 0) {
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
	assert(record_parse(&device_records, out.buf, out.len, &again, &err) == 0);
	assert(strcmp(again.address, record.address) == 0);
	assert(strcmp(again.uid, record.uid) == 0);
	assert(!again.native == !record.native);
}

static void check_job(char *text)
{
	char *words[WORDS_MAX + 1] = { NULL };
	struct job job = { 0 };
	struct err err = { 0 };

	for (size_t i = 0; i < WORDS_MAX && text; i++) {
		words[i] = text;
		text = strchr(text, '\n');
		if (text)
			*text++ = '\0';
	}
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
	auto_free char *words = xmalloc(size + 1);

	if (size > 0) {
		memcpy(text, data, size);
		memcpy(words, data, size);
	}
	words[size] = '\0';
	check_record(text, size);
	check_job(words);
	return 0;
}

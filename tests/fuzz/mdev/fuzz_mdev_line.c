/*
 * fuzz_mdev_line: any bytes as the lines of mdev-create or mdev-remove. What comes of them is one outcome
 * that a condition and a log line can hold.
 */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/mdev/mdev_line.h"
#include "base/err.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t max)
{
	size_t len = text ? strlen(text) : 0;

	assert(len <= max);
	assert(!text || utf8_valid(text, len));
	for (size_t i = 0; i < len; i++)
		assert((unsigned char)text[i] >= ' ' && text[i] != 0x7f);
}

/* The first byte says how the helper ends. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	int result = size > 0 && data[0] & 1 ? -EPIPE : 0;
	struct err err = { .kind = size > 0 && data[0] & 2 ? ERR_STUCK : ERR_RETRY,
			   .code = result };
	struct mdev_lines lines = { 0 };

	for (size_t i = 1, len; i < size; i += len + 1) {
		const char *end = memchr(text + i, '\n', size - i);

		len = end ? (size_t)(end - text) - i : size - i;
		mdev_lines_take(&lines, text + i, len);
	}
	mdev_lines_end(&lines, 7, result, &err);
	assert(lines.outcome.done || (lines.outcome.reason && *lines.outcome.reason));
	assert(lines.outcome.done || lines.outcome.message);
	check_text(lines.outcome.reason, 63);
	check_text(lines.outcome.message, 1024);
	check_text(lines.outcome.uuid, 512);
	mdev_lines_done(&lines);
	return 0;
}

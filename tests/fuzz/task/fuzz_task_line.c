/*
 * fuzz_task_line: any bytes as the lines of hostdev-helper, or of a vendor's command. What comes of
 * them is one outcome that a condition and a log line can hold.
 */
#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/task/task_line.h"
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

/* The first byte says how the program ends, and which it is. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	int result = size > 0 && data[0] & 1 ? -EPIPE : 0;
	struct err err = { .kind = size > 0 && data[0] & 2 ? ERR_STUCK : ERR_RETRY,
			   .code = result };
	bool is_tool = size > 0 && data[0] & 4;
	struct task_lines lines = { 0 };
	struct task_outcome outcome = { 0 };

	for (size_t i = 1, len; i < size; i += len + 1) {
		const char *end = memchr(text + i, '\n', size - i);

		len = end ? (size_t)(end - text) - i : size - i;
		if (is_tool)
			task_lines_take_text(&lines, text + i, len);
		else
			task_lines_take(&lines, text + i, len);
	}
	if (is_tool)
		task_lines_end_tool(&lines, "nvidia-smi", result, &err, &outcome);
	else
		task_lines_end(&lines, "mdev-create", result, &err, &outcome);
	assert(outcome.result != TASK_NONE);
	assert(outcome.result == TASK_DONE || (outcome.reason && *outcome.reason));
	assert(outcome.message);
	assert(outcome.holder_pid >= 0);
	check_text(outcome.reason, 64);
	check_text(outcome.message, 4096);
	check_text(outcome.uuid, 64);
	check_text(outcome.address, 64);
	check_text(outcome.step, 64);
	check_text(outcome.error_name, 64);
	check_text(outcome.holder, 2048);
	task_outcome_done(&outcome);
	task_lines_done(&lines);
	return 0;
}

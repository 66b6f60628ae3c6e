/*
 * fuzz_binder_line: any bytes as the lines of a transition's helper. What comes of them is one outcome
 * that a condition and a log line can hold.
 */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/binder/binder_line.h"
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

static void check(const struct binder_outcome *outcome, enum binder_verb verb)
{
	assert(outcome->message);
	assert((outcome->result == BINDER_DONE) == !outcome->reason);
	assert(outcome->holder_pid >= 0);
	assert(outcome->seen.len <= BINDER_FUNCTIONS_MAX);
	assert(verb == BINDER_PLAN_BIND || outcome->lines.len == 0);
	check_text(outcome->reason, 64);
	check_text(outcome->step, 64);
	check_text(outcome->address, 64);
	check_text(outcome->error_name, 64);
	check_text(outcome->holder, 2048);
	check_text(outcome->message, 4096);
	for (size_t i = 0; i < outcome->seen.len; i++) {
		check_text(outcome->seen.items[i].driver, 256);
		check_text(outcome->seen.items[i].override, 256);
	}
}

/* The first byte says how the helper ends, and what it was to do. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	enum binder_verb verb = size > 0 && data[0] & 4 ? BINDER_PLAN_BIND : BINDER_BIND;
	int result = size > 0 && data[0] & 1 ? -EPIPE : 0;
	struct err err = { .kind = size > 0 && data[0] & 2 ? ERR_STUCK : ERR_RETRY,
			   .code = result };
	struct binder_lines lines;
	struct binder_outcome outcome;

	binder_lines_init(&lines, verb);
	for (size_t i = 1, len; i < size; i += len + 1) {
		const char *end = memchr(text + i, '\n', size - i);

		len = end ? (size_t)(end - (text + i)) : size - i;
		binder_lines_take(&lines, text + i, len);
	}
	binder_lines_end(&lines, 42, 7, result, &err, &outcome);
	check(&outcome, verb);
	binder_outcome_done(&outcome);
	binder_lines_done(&lines);
	return 0;
}

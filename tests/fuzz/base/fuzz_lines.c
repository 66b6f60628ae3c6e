/*
 * However a stream is cut into chunks, the lines are those of the stream as a whole, and a line
 * that is too long ends it at the same place. The first byte chooses the cuts, the second the
 * limit.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/lines.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take_line(void *arg, const char *line, size_t len, struct err *err)
{
	struct str *all = arg;

	(void)err;
	str_addf(all, "%zu:", len);
	str_add_mem(all, line, len);
	return 0;
}

/* Feed in chunks whose sizes follow from @step; 0 is one chunk. Returns what the last feed did. */
static int feed(const char *text, size_t len, size_t max, unsigned step, struct str *ret_all)
{
	struct lines lines = { .max = max };
	struct err err = { 0 };
	unsigned seed = step;
	int r = 0;

	while (len > 0 && r == 0) {
		size_t n = step ? 1 + (seed = seed * 1103515245 + 12345) / 65536 % step : len;

		n = n < len ? n : len;
		r = lines_feed(&lines, text, n, take_line, ret_all, &err);
		assert(lines.part.len <= max);
		text += n;
		len -= n;
	}
	assert(r == 0 || err.kind == ERR_INVALID);
	lines_done(&lines);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_str struct str whole = STR_INIT;
	auto_str struct str cut = STR_INIT;
	const char *text;
	size_t max;
	int r;

	if (size < 2)
		return 0;
	text = (const char *)data + 2;
	max = data[1] + 1U;
	r = feed(text, size - 2, max, 0, &whole);
	assert(feed(text, size - 2, max, data[0] % 32 + 1U, &cut) == r);
	assert(whole.len == cut.len && memcmp(str_cstr(&whole), str_cstr(&cut), cut.len) == 0);
	return 0;
}

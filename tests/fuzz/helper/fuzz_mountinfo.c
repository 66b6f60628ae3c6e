/* fuzz_mountinfo: any bytes as mountinfo and as the list of swap areas. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/helper/scan/mounts.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t count_lines(const char *text, size_t len)
{
	size_t lines = len > 0 && text[len - 1] != '\n';

	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n';
	return lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free char *text = xmalloc(size);
	struct mounts mounts = { 0 };
	struct swaps swaps = { 0 };
	const struct mount *backing;
	size_t bad;

	if (size > 0)
		memcpy(text, data, size);
	bad = mounts_parse(text, size, &mounts);
	assert(mounts.len + bad == count_lines(text, size));
	for (size_t i = 0; i < mounts.len; i++) {
		assert(mounts.items[i].point[0] == '/');
		backing = mounts_backing(&mounts, mounts.items[i].point);
		assert(backing && strlen(backing->point) <= strlen(mounts.items[i].point));
	}
	swaps_parse(text, size, &swaps);
	for (size_t i = 0; i < swaps.len; i++)
		assert(swaps.items[i].path[0] == '/');
	mounts_done(&mounts);
	swaps_done(&swaps);
	return 0;
}

/*
 * fuzz_nvml_line: any bytes as lines of hostdev-nvml. A line that is taken has what its kind needs,
 * and texts that a status, a resource name and a log line can hold.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/nvidia/nvml_line.h"
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

static void check_word(const char *text, size_t max)
{
	check_text(text, max);
	assert(!text || !strpbrk(text, " ,\"\\\n"));
}

static void check(const struct nvml_line *line)
{
	check_word(line->address, 31);
	check_word(line->peer, 31);
	check_word(line->uuid, NVML_LINE_UUID_MAX);
	check_word(line->profile, NVML_LINE_PROFILE_MAX);
	check_word(line->cluster, 32);
	check_text(line->name, NVML_LINE_NAME_MAX);
	check_text(line->driver, 79);
	check_text(line->nvml, 79);
	check_text(line->function, 64);
	check_text(line->message, NVML_LINE_MESSAGE_MAX);
	assert(line->number >= 0);
	assert(line->index >= -1 && line->minor >= -1 && line->gi >= -1 && line->ci >= -1);
	assert(line->memory_mib >= -1 && line->data >= -1 && line->recovery >= -1);
	assert(line->kind != NVML_LINE_GPU || (line->address && line->uuid && line->number > 0));
	assert(line->kind != NVML_LINE_MIG || (line->address && line->uuid && line->gi >= 0));
	assert(line->kind != NVML_LINE_LOST || (line->address && line->uuid && line->code >= 0));
	assert(line->kind != NVML_LINE_PAIR || (line->address && line->peer));
	assert(line->kind != NVML_LINE_FAILED || line->code >= 0);
}

static void parse(const char *text, size_t len)
{
	struct nvml_line line;
	struct err err = { 0 };

	if (nvml_line_parse(text, len, &line, &err) < 0) {
		assert(err.kind == ERR_INVALID && err.msg[0]);
		return;
	}
	check(&line);
	nvml_line_done(&line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;

	for (size_t i = 0, len; i < size; i += len + 1) {
		const char *end = memchr(text + i, '\n', size - i);

		len = end ? (size_t)(end - (text + i)) : size - i;
		parse(text + i, len);
	}
	return 0;
}

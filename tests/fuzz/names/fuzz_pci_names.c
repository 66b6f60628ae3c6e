/*
 * fuzz_pci_names: any bytes as pci.ids, through libpci and our way around its error hook.
 *
 * libpci reads the file through zlib and leaves it open after an error. The functions of zlib that
 * it uses are replaced here, so that no run reads a file and none leaves anything behind.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/helper/sys/report.h"
#include "agent/names/names.h"
#include "base/mem.h"

/* zlib's names; its header is not needed for them. */
void *gzopen(const char *path, const char *mode);
char *gzgets(void *file, char *line, int size);
int gzeof(void *file);
const char *gzerror(void *file, int *ret_code);
int gzclose(void *file);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the replaced functions read. */
static struct {
	const char *at;
	const char *end;
} input;

void *gzopen(const char *path, const char *mode)
{
	(void)path;
	(void)mode;
	return &input;
}

char *gzgets(void *file, char *line, int size)
{
	int len = 0;

	assert(file == &input && size > 1);
	while (len + 1 < size && input.at < input.end) {
		line[len++] = *input.at++;
		if (line[len - 1] == '\n')
			break;
	}
	line[len] = '\0';
	return len > 0 ? line : NULL;
}

int gzeof(void *file)
{
	assert(file == &input);
	return input.at >= input.end;
}

const char *gzerror(void *file, int *ret_code)
{
	assert(file == &input);
	*ret_code = 0;
	return "";
}

int gzclose(void *file)
{
	assert(file == &input);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const ids[] = { "pci:8086:10d3", "pci:1af4:1000", "pciclass:0200",
					   "pciclass:0300", "usbclass:03" };
	static char path[64];
	auto_free char *text = xmalloc(size);
	struct names names = { 0 };
	struct report report = { 0 };

	if (!path[0])
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", memfd_create("pci.ids", 0));
	if (size > 0)
		memcpy(text, data, size);
	input.at = text;
	input.end = text + size;
	for (size_t i = 0; i < ARRAY_LEN(ids); i++)
		assert(names_add(&names, ids[i], NULL) == 0);
	names_find_pci(&names, path, &report);
	assert(!names.items[4].outer);
	names_write(&names, &report);
	names_done(&names);
	report_done(&report);
	return 0;
}

/* fuzz_str_clean: clean text is UTF-8 without control characters, and cleaning it again changes
 * nothing. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_str struct str once = STR_INIT;
	auto_str struct str twice = STR_INIT;

	str_add_clean(&once, (const char *)data, size);
	assert(utf8_valid(str_cstr(&once), once.len));
	for (size_t i = 0; i < once.len; i++) {
		unsigned char c = (unsigned char)once.buf[i];

		assert(c >= ' ' && c != 0x7f);
		assert(c != 0xc2 || (unsigned char)once.buf[i + 1] >= 0xa0);
	}
	str_add_clean(&twice, once.buf, once.len);
	assert(strcmp(str_cstr(&twice), once.buf) == 0);
	return 0;
}

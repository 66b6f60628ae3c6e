/* fuzz_usb_ids: any bytes as usb.ids; every answer must be text of the file, of a bounded
 * length. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/names/names.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct name *name, const char *text, size_t len)
{
	const char *answers[] = { name->outer, name->inner };

	assert(name->outer || !name->inner);
	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		if (answers[i])
			assert(strlen(answers[i]) <= 1024 &&
			       memmem(text, len, answers[i], strlen(answers[i])));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const ids[] = { "usb:0627:0001", "usb:0001:0101", "usbclass:03",
					   "pci:0627:0001" };
	auto_free char *text = xmalloc(size);
	struct names names = { 0 };

	if (size > 0)
		memcpy(text, data, size);
	for (size_t i = 0; i < ARRAY_LEN(ids); i++)
		assert(names_add(&names, ids[i], NULL) == 0);
	names_usb_parse(&names, text, size);
	for (size_t i = 0; i < names.len; i++)
		check(&names.items[i], text, size);
	assert(!names.items[3].outer);
	names_done(&names);
	return 0;
}

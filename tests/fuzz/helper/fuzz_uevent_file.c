/* fuzz_uevent_file: any bytes as a device's uevent attribute; fields must lie in it, in order, and
 * numbers within their bounds. */
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/helper/sys/uevent_file.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_numbers(const struct uevent_field *field)
{
	static const struct uevent_numbers forms[] = {
		{ 16, ':', 2, 0xffff },
		{ 16, '/', 3, 0xffff },
		{ 10, '/', 3, 0xff },
		{ 16, 0, 1, 0xffffff },
	};

	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		int numbers[3] = { -1, -1, -1 };
		bool found = uevent_numbers(field, &forms[i], numbers);

		for (size_t k = 0; k < ARRAY_LEN(numbers); k++) {
			bool written = found && k < forms[i].count;

			assert(written ? numbers[k] >= 0 && numbers[k] <= (int)forms[i].max
				       : numbers[k] == -1);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free char *text = xmalloc(size);
	struct uevent_cursor cursor = { text, text + size };
	struct uevent_field field;
	const char *last = text;

	if (size > 0)
		memcpy(text, data, size);
	while (uevent_next(&cursor, &field)) {
		assert(field.key >= last && field.key_len > 0);
		assert(field.value == field.key + field.key_len + 1);
		last = field.value + field.value_len;
		assert(last <= text + size);
		(void)uevent_is(&field, "PCI_ID");
		check_numbers(&field);
	}
	return 0;
}

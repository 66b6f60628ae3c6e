#include "agent/helper/sys/uevent_file.h"

#include <assert.h>
#include <string.h>

#include "base/ascii.h"

enum { NUMBERS_MAX = 4 };

bool uevent_next(struct uevent_cursor *cursor, struct uevent_field *ret_field)
{
	while (cursor->at < cursor->end) {
		const char *line = cursor->at;
		const char *stop = memchr(line, '\n', (size_t)(cursor->end - line));
		const char *equals;

		if (!stop)
			stop = cursor->end;
		cursor->at = stop < cursor->end ? stop + 1 : stop;
		equals = memchr(line, '=', (size_t)(stop - line));
		if (!equals || equals == line)
			continue;
		*ret_field = (struct uevent_field){
			.key = line,
			.key_len = (size_t)(equals - line),
			.value = equals + 1,
			.value_len = (size_t)(stop - equals - 1),
		};
		return true;
	}
	return false;
}

bool uevent_is(const struct uevent_field *field, const char *key)
{
	return field->key_len == strlen(key) && memcmp(field->key, key, field->key_len) == 0;
}

/* One number at *@at; moves it on. */
static bool read_number(const char **at, const char *end, const struct uevent_numbers *form,
			int *ret_number)
{
	unsigned value = 0;
	const char *start = *at;

	for (; *at < end; (*at)++) {
		int digit = ascii_hex_value(**at);

		if (digit < 0 || (unsigned)digit >= form->base)
			break;
		value = value * form->base + (unsigned)digit;
		if (value > form->max)
			return false;
	}
	*ret_number = (int)value;
	return *at > start;
}

bool uevent_numbers(const struct uevent_field *field, const struct uevent_numbers *form,
		    int *ret_numbers)
{
	const char *at = field->value;
	const char *end = at + field->value_len;
	int numbers[NUMBERS_MAX] = { 0 };

	assert(form->count <= NUMBERS_MAX && form->max <= 0xffffff);
	for (size_t i = 0; i < form->count; i++) {
		if (i > 0 && (at >= end || *at++ != form->separator))
			return false;
		if (!read_number(&at, end, form, &numbers[i]))
			return false;
	}
	if (at != end)
		return false;
	memcpy(ret_numbers, numbers, form->count * sizeof(numbers[0]));
	return true;
}

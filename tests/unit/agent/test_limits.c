/* limits: forms as tables, and what becomes of text that is too long or not of its form. */
#include "agent/inventory/limits.h"

#include <limits.h>
#include <string.h>

#include "api/json_map.h"
#include "base/str.h"
#include "base/utf8.h"
#include "unit/suite.h"

static struct form_case {
	const char *name;
	limit_form_fn *form;
	size_t max;
	const char *text;
	bool fits;
} forms[] = {
	{ "four hex digits are an id", limit_is_id, 4, "10de", true },
	{ "three are none", limit_is_id, 4, "10d", false },
	{ "five are none", limit_is_id, 4, "10de0", false },
	{ "upper case is none", limit_is_id, 4, "10DE", false },
	{ "0x is no part of an id", limit_is_id, 4, "0x10", false },
	{ "nothing is no id", limit_is_id, 4, "", false },
	{ "a newline is no part of an id", limit_is_id, 4, "10d\n", false },
	{ "digits are a number", limit_is_number, 10, "0123456789", true },
	{ "too many digits are none", limit_is_number, 10, "01234567890", false },
	{ "a sign is no digit", limit_is_number, 10, "-1", false },
	{ "nothing is no number", limit_is_number, 10, "", false },
	{ "an address of PCI", limit_is_address, 16, "0000:04:1f.7", true },
	{ "a domain of eight digits", limit_is_address, 16, "10000000:04:00.0", true },
	{ "a domain of five digits", limit_is_address, 16, "10000:e1:00.0", true },
	{ "a domain of three digits", limit_is_address, 16, "000:04:00.0", false },
	{ "a domain of nine digits", limit_is_address, 99, "100000000:04:00.0", false },
	{ "longer than the field", limit_is_address, 16, "10000000:04:00.0x", false },
	{ "a function past seven", limit_is_address, 16, "0000:04:00.8", false },
	{ "no function", limit_is_address, 16, "0000:04:00", false },
	{ "a function of nothing", limit_is_address, 16, "0000:04:00.", false },
	{ "no domain", limit_is_address, 16, "04:00.0", false },
	{ "a slot of one digit", limit_is_address, 16, "0000:04:0.0", false },
	{ "text behind an address", limit_is_address, 16, "0000:04:00.0 ", false },
	{ "an address in upper case", limit_is_address, 16, "0000:0A:00.0", false },
	{ "nothing is no address", limit_is_address, 16, "", false },
	{ "a port of the root hub", limit_is_port, 64, "1-4", true },
	{ "a port behind hubs", limit_is_port, 64, "12-4.2.11", true },
	{ "a root hub", limit_is_port, 64, "usb3", true },
	{ "a root hub without a number", limit_is_port, 64, "usb", false },
	{ "a bus is no port", limit_is_port, 64, "1", false },
	{ "a port without a bus", limit_is_port, 64, "-4", false },
	{ "a hub without a port", limit_is_port, 64, "1-4.", false },
	{ "two dashes", limit_is_port, 64, "1-4-2", false },
	{ "a dot before the dash", limit_is_port, 64, "1.4", false },
	{ "an interface is no port", limit_is_port, 64, "1-4:1.0", false },
	{ "a port longer than the field", limit_is_port, 4, "1-4.2", false },
	{ "nothing is no port", limit_is_port, 64, "", false },
	{ "a reset method is a word", limit_is_word, 32, "device_specific", true },
	{ "two words are not one", limit_is_word, 32, "flr bus", false },
	{ "nothing is no word", limit_is_word, 32, "", false },
	{ "a word longer than the field", limit_is_word, 3, "acpi", false },
	{ "letters beyond ASCII are no word here", limit_is_word, 32, "fl\xc3\xa9", false },
	{ "control characters are no word", limit_is_word, 32, "a\x1b", false },
};

static void form_matches_table(void **state)
{
	const struct form_case *c = *state;

	assert_int_equal(c->form(c->text, c->max), c->fits);
}

struct sample {
	char *text;
	char *id;
};

static const struct limit rows[] = {
	LIMIT(struct sample, text, 10, NULL),
	LIMIT(struct sample, id, 4, limit_is_id),
};

static struct text_case {
	const char *name;
	const char *text;
	const char *becomes;
} texts[] = {
	{ "text that fits stays", "0123456789", "0123456789" },
	{ "longer text ends in dots", "0123456789a", "0123456..." },
	{ "a character is not cut in two", "012345\xe2\x82\xac__", "012345..." },
	{ "an escape sequence is shown", "a\x1b[1m", "a\\x1b[1m" },
	{ "what is too long only when shown is cut", "a\x1b[1mbcd", "a\\x1b[1..." },
	{ "no text stays none", NULL, NULL },
};

static void text_is_cleaned_and_cut(void **state)
{
	const struct text_case *c = *state;
	struct sample sample = { .text = xstrdup_or_null(c->text) };

	limits_apply(rows, ARRAY_LEN(rows), &sample);
	if (c->becomes)
		assert_string_equal(sample.text, c->becomes);
	else
		assert_null(sample.text);
	free(sample.text);
}

static void a_wrong_form_is_dropped_alone(void **state)
{
	struct sample sample = { .text = xstrdup("stays"), .id = xstrdup("wrong") };

	limits_apply(rows, ARRAY_LEN(rows), &sample);
	assert_string_equal(sample.text, "stays");
	assert_null(sample.id);
	free(sample.text);
}

static void lists_lose_wrong_items_first(void **state)
{
	static const char *const items[] = { "10de", "no", "8086", "nor this", "1af4", "0627" };
	static const char *const kept[] = { "10de", "8086", "1af4" };
	struct json_strs list = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(items); i++)
		json_strs_add(&list, items[i]);
	limit_list(&list, ARRAY_LEN(kept), 4, limit_is_id);
	assert_int_equal(list.len, ARRAY_LEN(kept));
	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		assert_string_equal(list.items[i], kept[i]);
	json_strs_done(&list);
}

static struct number_case {
	const char *name;
	int number;
	int becomes;
} numbers[] = {
	{ "zero is in the range", 0, 0 },
	{ "so is the largest", 65535, 65535 },
	{ "one more is absent", 65536, -7 },
	{ "below zero is absent", -1, -7 },
	{ "the smallest int is absent", INT_MIN, -7 },
};

static void number_matches_table(void **state)
{
	const struct number_case *c = *state;

	assert_int_equal(limit_number(c->number, 65535, -7), c->becomes);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, forms, form_matches_table);
	suite_rows(&suite, texts, text_is_cleaned_and_cut);
	suite_rows(&suite, numbers, number_matches_table);
	suite_add(&suite, "a value of a wrong form is dropped, the others stay",
		  a_wrong_form_is_dropped_alone, NULL);
	suite_add(&suite, "a list loses what is of a wrong form, then what is too much",
		  lists_lose_wrong_items_first, NULL);
	return suite_run(&suite, "limits");
}

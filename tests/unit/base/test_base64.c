#include "unit/suite.h"

#include <stdbool.h>
#include <string.h>

#include "base/base64.h"

static struct decode_case {
	const char *name;
	const char *text;
	const char *data; /* NULL: refused */
} decodes[] = {
	{ "nothing is nothing", "", "" },
	{ "three bytes need no padding", "TWFu", "Man" },
	{ "two bytes end in one sign", "TWE=", "Ma" },
	{ "one byte ends in two signs", "TQ==", "M" },
	{ "line breaks are passed over", "TW\nFu\r\nTQ==\n", "ManM" },
	{ "padding is not left out", "TQ", NULL },
	{ "padding is not too long", "TWFu====", NULL },
	{ "padding is at the end only", "TQ==TWFu", NULL },
	{ "blanks are refused", "TW Fu", NULL },
	{ "the alphabet for URLs is another one", "__-_", NULL },
	{ "letters that are not ASCII are refused", "TW\xc3\xa4", NULL },
};

static void text_decodes(void **state)
{
	const struct decode_case *c = *state;
	auto_free char *data = NULL;
	size_t len = 99;

	assert_int_equal(base64_decode(c->text, strlen(c->text), &data, &len), c->data != NULL);
	if (!c->data) {
		assert_null(data);
		return;
	}
	assert_int_equal(len, strlen(c->data));
	assert_memory_equal(data, c->data, len + 1);
}

static void what_was_encoded_decodes_to_itself(void **state)
{
	uint64_t seed = 7;
	unsigned char bytes[64];

	for (size_t len = 0; len < sizeof(bytes); len++) {
		auto_free char *text = NULL;
		auto_free char *back = NULL;
		size_t back_len = 0;

		for (size_t i = 0; i < len; i++)
			bytes[i] = (unsigned char)suite_random(&seed);
		text = base64_encode(bytes, len);
		assert_true(base64_decode(text, strlen(text), &back, &back_len));
		assert_int_equal(back_len, len);
		assert_memory_equal(back, bytes, len);
	}
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, decodes, text_decodes);
	suite_add(&suite, "what was encoded decodes to itself", what_was_encoded_decodes_to_itself,
		  NULL);
	return suite_run(&suite, "base64");
}

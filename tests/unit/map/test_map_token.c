#include "unit/suite.h"

#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "cli/map/map_token.h"

static const char token[MAP_TOKEN_SIZE] = "0123456789abcdef0123456789abcdef";

static struct is_case {
	const char *name;
	const char *text;
	bool is;
} is_cases[] = {
	{ "the token is itself", "0123456789abcdef0123456789abcdef", true },
	{ "another first letter is not it", "1123456789abcdef0123456789abcdef", false },
	{ "another last letter is not it", "0123456789abcdef0123456789abcdee", false },
	{ "a part of it is not it", "0123456789abcdef0123456789abcde", false },
	{ "more than it is not it", "0123456789abcdef0123456789abcdef0", false },
	{ "nothing is not it", "", false },
	{ "capitals are others", "0123456789ABCDEF0123456789abcdef", false },
};

static void text_is_token(void **state)
{
	const struct is_case *c = *state;

	assert_int_equal(map_token_is(token, c->text, strlen(c->text)), c->is);
}

static void one_bit_makes_another(void **state)
{
	for (size_t i = 0; i < MAP_TOKEN_LEN * (size_t)8; i++) {
		char other[MAP_TOKEN_SIZE];

		memcpy(other, token, sizeof(other));
		other[i / 8] = (char)(other[i / 8] ^ (1 << i % 8));
		assert_false(map_token_is(token, other, MAP_TOKEN_LEN));
	}
}

static void tokens_are_random_hexadecimal(void **state)
{
	char made[16][MAP_TOKEN_SIZE];

	for (size_t i = 0; i < ARRAY_LEN(made); i++) {
		assert_int_equal(map_token_make(made[i], NULL), 0);
		assert_int_equal(strlen(made[i]), MAP_TOKEN_LEN);
		assert_int_equal(strspn(made[i], "0123456789abcdef"), MAP_TOKEN_LEN);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(made[i], made[k]);
	}
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, is_cases, text_is_token);
	suite_add(&suite, "a token of which one bit is another is not it", one_bit_makes_another,
		  NULL);
	suite_add(&suite, "tokens are random hexadecimal", tokens_are_random_hexadecimal, NULL);
	return suite_run(&suite, "map_token");
}

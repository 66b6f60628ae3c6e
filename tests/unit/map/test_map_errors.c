#include "unit/suite.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/map/map_errors.h"

static char said[512];

static void say(const char *line)
{
	size_t len = strlen(said);

	(void)snprintf(said + len, sizeof(said) - len, "%s\n", line);
}

static void told(struct map_error errors[2], const char *a, const char *b, const char *expected)
{
	said[0] = '\0';
	errors[0] = (struct map_error){ .kind = "as", .error = a, .printed = errors[0].printed };
	errors[1] = (struct map_error){ .kind = "bs", .error = b, .printed = errors[1].printed };
	map_errors_print(errors, 2, say);
	assert_string_equal(said, expected);
}

static void each_change_is_said_once(void **state)
{
	struct map_error errors[2] = { 0 };

	told(errors, "", "", "");
	told(errors, "list as: no", "", "Cannot read as: no\n");
	told(errors, "list as: no", "list bs: no", "Cannot read bs: no\n");
	told(errors, "watch as: no", "list bs: no", "");
	told(errors, "list as: now", "list bs: n", "Cannot read as: now\nCannot read bs: n\n");
	told(errors, "", "list bs: n", "");
	told(errors, "", "", "All can be read again\n");
	told(errors, "", "", "");
	map_errors_done(errors, ARRAY_LEN(errors));
}

static void kinds_of_one_error_are_one_line(void **state)
{
	struct map_error errors[2] = { 0 };

	told(errors, "list as: after 9 ms", "list bs: after 10 ms",
	     "Cannot read as, bs: after 9 ms\n");
	told(errors, "list as: after 11 ms", "list bs: after 0 ms", "");
	map_errors_done(errors, ARRAY_LEN(errors));
}

#define FORBIDDEN(kind)                       \
	"list " kind ": 403 forbidden: " kind \
	" is forbidden: User \"ann\" cannot list resource \"" kind "\""

static void what_is_forbidden_is_one_line(void **state)
{
	struct map_error errors[2] = { 0 };

	told(errors, FORBIDDEN("as"), FORBIDDEN("bs"),
	     "Cannot read as, bs: user 'ann' may not (403 forbidden)\n");
	told(errors, FORBIDDEN("as"), "list bs: 403 forbidden", "Cannot read bs: 403 forbidden\n");
	map_errors_done(errors, ARRAY_LEN(errors));
}

static void only_the_kind_itself_is_cut_off(void **state)
{
	assert_string_equal(map_error_text("as", "list as: x: y"), "x: y");
	assert_string_equal(map_error_text("as", "list bs: x"), "list bs: x");
	assert_string_equal(map_error_text("as", "list as"), "list as");
	assert_string_equal(map_error_text("as", "denied"), "denied");
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "each change is said once", each_change_is_said_once, NULL);
	suite_add(&suite, "kinds of one error are one line", kinds_of_one_error_are_one_line, NULL);
	suite_add(&suite, "what is forbidden is one line", what_is_forbidden_is_one_line, NULL);
	suite_add(&suite, "only the kind itself is cut off", only_the_kind_itself_is_cut_off, NULL);
	return suite_run(&suite, "map_error");
}

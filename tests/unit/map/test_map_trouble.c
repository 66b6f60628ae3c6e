#include "unit/suite.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/map/map_trouble.h"

static char said[512];

static void say(const char *line)
{
	size_t len = strlen(said);

	(void)snprintf(said + len, sizeof(said) - len, "%s\n", line);
}

static void told(struct map_trouble troubles[2], const char *a, const char *b, const char *expected)
{
	said[0] = '\0';
	troubles[0] = (struct map_trouble){ .kind = "as", .error = a, .said = troubles[0].said };
	troubles[1] = (struct map_trouble){ .kind = "bs", .error = b, .said = troubles[1].said };
	map_troubles_say(troubles, 2, say);
	assert_string_equal(said, expected);
}

static void each_change_is_said_once(void **state)
{
	struct map_trouble troubles[2] = { 0 };

	told(troubles, "", "", "");
	told(troubles, "list as: no", "", "Cannot read as: no\n");
	told(troubles, "list as: no", "list bs: no", "Cannot read bs: no\n");
	told(troubles, "watch as: no", "list bs: no", "");
	told(troubles, "list as: now", "list bs: n", "Cannot read as: now\nCannot read bs: n\n");
	told(troubles, "", "list bs: n", "");
	told(troubles, "", "", "All can be read again\n");
	told(troubles, "", "", "");
	map_troubles_done(troubles, ARRAY_LEN(troubles));
}

static void kinds_of_one_error_are_one_line(void **state)
{
	struct map_trouble troubles[2] = { 0 };

	told(troubles, "list as: after 9 ms", "list bs: after 10 ms",
	     "Cannot read as, bs: after 9 ms\n");
	told(troubles, "list as: after 11 ms", "list bs: after 0 ms", "");
	map_troubles_done(troubles, ARRAY_LEN(troubles));
}

#define FORBIDDEN(kind)                       \
	"list " kind ": 403 forbidden: " kind \
	" is forbidden: User \"ann\" cannot list resource \"" kind "\""

static void what_is_forbidden_is_one_line(void **state)
{
	struct map_trouble troubles[2] = { 0 };

	told(troubles, FORBIDDEN("as"), FORBIDDEN("bs"),
	     "Cannot read as, bs: user 'ann' may not (403 forbidden)\n");
	told(troubles, FORBIDDEN("as"), "list bs: 403 forbidden",
	     "Cannot read bs: 403 forbidden\n");
	map_troubles_done(troubles, ARRAY_LEN(troubles));
}

static void only_the_kind_itself_is_cut_off(void **state)
{
	assert_string_equal(map_trouble_text("as", "list as: x: y"), "x: y");
	assert_string_equal(map_trouble_text("as", "list bs: x"), "list bs: x");
	assert_string_equal(map_trouble_text("as", "list as"), "list as");
	assert_string_equal(map_trouble_text("as", "denied"), "denied");
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "each change is said once", each_change_is_said_once, NULL);
	suite_add(&suite, "kinds of one error are one line", kinds_of_one_error_are_one_line, NULL);
	suite_add(&suite, "what is forbidden is one line", what_is_forbidden_is_one_line, NULL);
	suite_add(&suite, "only the kind itself is cut off", only_the_kind_itself_is_cut_off, NULL);
	return suite_run(&suite, "map_trouble");
}

#include "agent/helper/record/record.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "unit/suite.h"

#define NEEDED                                                                            \
	"\"address\":\"0000:01:00.0\",\"claim\":\"vm1-000001000\",\"uid\":\"1234-5678\"," \
	"\"driver\":\"vfio-pci\",\"id\":\"8086:10d3\""

#define RECORD_WITH(member, value)                                                          \
	"{\"address\":\"0000:01:00.0\",\"claim\":\"c\",\"uid\":\"u\",\"id\":\"8086:10d3\"," \
	"\"" member "\":" value "}"

/* clang-format off */
static struct broken_case {
	const char *name;
	const char *text;
	const char *message;
} broken[] = {
	{ "an empty file", "", "no JSON object" },
	{ "half a file", "{" NEEDED, "no JSON object" },
	{ "something behind it", "{" NEEDED "} x", "no JSON object" },
	{ "an array", "[]", "no JSON object" },
	{ "a member is missing", RECORD_WITH("native", "\"e1000e\""), "'driver' is missing" },
	{ "a driver that is a path", RECORD_WITH("driver", "\"../../x\""),
	  "'driver' has not the form of one" },
	{ "a driver that is a number", RECORD_WITH("driver", "1"), "'driver' has not the form of one" },
	{ "a driver that is null", RECORD_WITH("driver", "null"), "'driver' has not the form of one" },
	{ "an escape, which no valid value needs", RECORD_WITH("driver", "\"vfio\\u002dpci\""),
	  "'driver' has not the form of one" },
	{ "a member twice", "{" NEEDED ",\"uid\":\"2\"}", "'uid' is there twice" },
	{ "nesting without end", "{\"x\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
	  "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "no JSON object" },
};
/* clang-format on */

static void broken_is_refused(void **state)
{
	const struct broken_case *c = *state;
	struct device_record record = { 0 };
	struct err err = { 0 };

	assert_int_equal(
		record_parse(&device_records, NULL, c->text, strlen(c->text), &record, &err),
		-EBADMSG);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_string_equal(err.msg, c->message);
	assert_null(record.address);
}

/* A newer version may say more. */
static void members_not_known(void **state)
{
	static const char text[] = "{\"newer\":{\"a\":[1,true,null]}," NEEDED ",\"x\":\"\\n\"}";
	auto_device_record struct device_record record = { 0 };

	assert_int_equal(record_parse(&device_records, NULL, text, sizeof(text) - 1, &record, NULL),
			 0);
	assert_string_equal(record.driver, "vfio-pci");
	assert_null(record.native);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, broken, broken_is_refused);
	suite_add(&suite, "members that are not known are passed over", members_not_known, NULL);
	return suite_run(&suite, "record_text");
}

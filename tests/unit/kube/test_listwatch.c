#include "kube/listwatch.h"

#include <string.h>

#include "base/err.h"
#include "unit/suite.h"

static struct line_case {
	const char *name;
	const char *line;
	enum watch_event_type type;
	const char *object; /* NULL: an error whose message has @error */
	const char *error;
} lines[] = {
	{ "an addition", "{\"type\":\"ADDED\",\"object\":{\"a\":1}}", WATCH_EVENT_ADDED,
	  "{\"a\":1}", NULL },
	{ "a change, members the other way round", "{\"object\":{},\"type\":\"MODIFIED\"}",
	  WATCH_EVENT_MODIFIED, "{}", NULL },
	{ "a deletion with members we do not know",
	  "{\"x\":[{}],\"type\":\"DELETED\",\"object\":{ }}", WATCH_EVENT_DELETED, "{ }", NULL },
	{ "a bookmark", " {\"type\":\"BOOKMARK\",\"object\":{}}\r", WATCH_EVENT_BOOKMARK, "{}",
	  NULL },
	{ "an error", "{\"type\":\"ERROR\",\"object\":{\"code\":410}}", WATCH_EVENT_ERROR,
	  "{\"code\":410}", NULL },
	{ "an annotation with a NUL", "{\"type\":\"ADDED\",\"object\":{\"a\":\"\\u0000\"}}",
	  WATCH_EVENT_ADDED, "{\"a\":\"\\u0000\"}", NULL },
	{ "a type nobody knows", "{\"type\":\"MOVED\",\"object\":{}}", 0, NULL, "'MOVED'" },
	{ "a type that is a number", "{\"type\":1,\"object\":{}}", 0, NULL, "not JSON" },
	{ "no type", "{\"object\":{}}", 0, NULL, "without type or object" },
	{ "no object", "{\"type\":\"ADDED\"}", 0, NULL, "without type or object" },
	{ "an object that is a list", "{\"type\":\"ADDED\",\"object\":[]}", 0, NULL,
	  "without type or object" },
	{ "half a line", "{\"type\":\"ADDED\",\"object\":{\"a\":", 0, NULL, "not JSON" },
	{ "garbage", "<html>", 0, NULL, "not JSON" },
	{ "two events in one line", "{\"type\":\"ADDED\",\"object\":{}}{}", 0, NULL, "not JSON" },
};

static void line_is_taken_apart(void **state)
{
	const struct line_case *row = *state;
	struct watch_event event = { 0 };
	struct err err = { 0 };
	int r = watch_event_parse(row->line, strlen(row->line), &event, &err);

	if (!row->object) {
		assert_true(r < 0);
		assert_non_null(strstr(err.msg, row->error));
		return;
	}
	assert_int_equal(r, 0);
	assert_int_equal(event.type, row->type);
	assert_true(json_text_is(&event.object, row->object));
}

static struct version_case {
	const char *name;
	const char *object;
	const char *version; /* NULL: an error */
} versions[] = {
	{ "a version", "{\"metadata\":{\"resourceVersion\":\"12\"}}", "12" },
	{ "a version that is no number", "{\"metadata\":{\"resourceVersion\":\"a/b\"}}", "a/b" },
	{ "no metadata", "{}", NULL },
	{ "no version", "{\"metadata\":{}}", NULL },
	{ "an empty version", "{\"metadata\":{\"resourceVersion\":\"\"}}", NULL },
	{ "a version that is a number in JSON", "{\"metadata\":{\"resourceVersion\":12}}", NULL },
};

static void version_is_found(void **state)
{
	const struct version_case *row = *state;
	struct json_text object = { .text = row->object, .len = strlen(row->object) };
	auto_free char *version = NULL;
	struct err err = { 0 };
	int r = watch_event_version(&object, &version, &err);

	assert_int_equal(r == 0, row->version != NULL);
	if (row->version)
		assert_string_equal(version, row->version);
	else
		assert_true(err.msg[0] != '\0');
}

static void a_version_is_bounded(void **state)
{
	char text[400];
	char *version = NULL;
	struct json_text object = { .text = text };

	object.len = (size_t)snprintf(text, sizeof(text),
				      "{\"metadata\":{\"resourceVersion\":\"%0300d\"}}", 1);
	assert_true(watch_event_version(&object, &version, NULL) < 0);
	assert_null(version);
}

static struct page_case {
	const char *name;
	const char *text;
	int items; /* -1: an error */
	const char *next_page;
} pages[] = {
	{ "a list of two", "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[{},{\"a\":1}]}", 2,
	  NULL },
	{ "a page with more to come",
	  "{\"items\":[{}],\"metadata\":{\"resourceVersion\":\"5\",\"continue\":\"tok\"}}", 1,
	  "tok" },
	{ "an empty list", "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}", 0, NULL },
	{ "an empty list as Go may write it",
	  "{\"metadata\":{\"resourceVersion\":\"5\",\"continue\":\"\"},\"items\":null}", 0, NULL },
	{ "no items at all", "{\"metadata\":{\"resourceVersion\":\"5\"}}", 0, NULL },
	{ "no metadata", "{\"items\":[]}", -1, NULL },
	{ "no version", "{\"metadata\":{},\"items\":[]}", -1, NULL },
	{ "items that are an object", "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":{}}", -1,
	  NULL },
	{ "a page that is cut", "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[{},", -1,
	  NULL },
	{ "nothing", "", -1, NULL },
};

static void count_item(void *arg, const struct json_text *object)
{
	int *items = arg;

	assert_true(object->len >= 2);
	(*items)++;
}

SUITE_CLOSING(list_page, struct list_page, list_page_done);

static void page_is_read(void **state)
{
	const struct page_case *row = suite_row(state);
	struct list_page *page = *state;
	struct err err = { 0 };
	int items = 0;
	int r = list_page_read(row->text, strlen(row->text), count_item, &items, page, &err);

	assert_int_equal(r == 0, row->items >= 0);
	if (r < 0)
		return;
	assert_int_equal(items, row->items);
	assert_string_equal(page->version, "5");
	assert_int_equal(page->next_page != NULL, row->next_page != NULL);
	if (row->next_page)
		assert_string_equal(page->next_page, row->next_page);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, lines, line_is_taken_apart);
	suite_rows(&suite, versions, version_is_found);
	suite_add(&suite, "a version is bounded", a_version_is_bounded, NULL);
	suite_fixture(&suite, &list_page_fixture);
	suite_rows(&suite, pages, page_is_read);
	return suite_run(&suite, "listwatch");
}

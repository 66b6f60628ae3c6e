/* hami_lock: the node's lock, and texts that are none. */
#include "agent/hami/hami_lock.h"

#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "unit/suite.h"

#define TIME "2026-11-27T20:00:00Z"

static struct lock_case {
	const char *name;
	const char *text;
	const char *pod; /* "namespace/name"; NULL: none */
	const char *why;
} locks[] = {
	{ "a lock", TIME ",default,train-0", "default/train-0", NULL },
	{ "with an offset", "2026-11-27T20:00:00+08:00,a,b", "a/b", NULL },
	{ "a dot in the pod's name", TIME ",a,b.c", "a/b.c", NULL },
	{ "a bare time of early releases", TIME, NULL, "names no pod" },
	{ "no pod", TIME ",default", NULL, "is not TIME,NAMESPACE,POD" },
	{ "a comma too many", TIME ",a,b,c", NULL, "is not TIME,NAMESPACE,POD" },
	{ "no time", "yesterday,a,b", NULL, "is not TIME,NAMESPACE,POD" },
	{ "nothing", "", NULL, "is not TIME,NAMESPACE,POD" },
	{ "empty names", TIME ",,", NULL, "does not name a pod" },
	{ "a path", TIME ",..,../nodes/a", NULL, "does not name a pod" },
	{ "a query", TIME ",a,b?c=d", NULL, "does not name a pod" },
};

static void lock_matches_table(void **state)
{
	const struct lock_case *c = *state;
	struct hami_lock lock;
	struct err err = { 0 };
	auto_free char *pod = NULL;

	if (hami_lock_parse(c->text, &lock, &err) < 0) {
		assert_null(c->pod);
		assert_int_equal(err.kind, ERR_INVALID);
		assert_non_null(strstr(err.msg, c->why));
		return;
	}
	pod = xasprintf("%s/%s", lock.namespace, lock.pod);
	assert_string_equal(pod, str_or_empty(c->pod));
	assert_string_equal(lock.text, c->text);
	hami_lock_done(&lock);
	assert_null(lock.text);
}

static void a_long_text_is_refused(void **state)
{
	char text[HAMI_LOCK_MAX + 2];
	struct hami_lock lock;
	struct err err = { 0 };

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_true(hami_lock_parse(text, &lock, &err) < 0);
	assert_non_null(strstr(err.msg, "more than 600 bytes"));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, locks, lock_matches_table);
	suite_add(&suite, "a long text is refused", a_long_text_is_refused, NULL);
	return suite_run(&suite, "hami_lock");
}

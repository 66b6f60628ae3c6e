#include "kube/store.h"

#include <stdio.h>
#include <string.h>

#include "api/pcidevice.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/str.h"
#include "unit/suite.h"

/* One word per change: "+a1" an addition, "~a1>2" a change, "-a2" a deletion; name and version. */
static void write_change(void *arg, const struct entry *before, const struct entry *after)
{
	struct str *log = arg;

	if (log->len)
		str_add_char(log, ' ');
	if (before && after)
		str_addf(log, "~%s%s>%s", before->name, before->version, after->version);
	else if (after)
		str_addf(log, "+%s%s", after->name, after->version);
	else if (before)
		str_addf(log, "-%s%s", before->name, before->version);
}

/* @what is "a1": name and version; the uid is "u" and what follows a colon. */
static struct entry *entry_for(const char *what)
{
	const char *colon = strchr(what, ':');
	int version_len = colon ? (int)(colon - what - 1) : (int)strlen(what) - 1;
	auto_free char *text = xasprintf("{\"metadata\":{\"name\":\"%c\",\"uid\":\"u%s\","
					 "\"resourceVersion\":\"%.*s\"}}",
					 what[0], colon ? colon + 1 : "", version_len, what + 1);
	struct json_text json = { .text = text, .len = strlen(text) };
	struct err err = { 0 };
	struct entry *entry = entry_decode(&pcidevice_kind, &json, &err);

	assert_non_null(entry);
	return entry;
}

static void put(struct store *store, const char *what, struct str *log)
{
	store_put(store, entry_for(what), write_change, log);
}

static struct change_case {
	const char *name;
	const char *have; /* entries, by blanks       */
	const char *put;  /* then these, one by one   */
	const char *log;
} changes[] = {
	{ "an addition", "", "a1", "+a1" },
	{ "a change", "a1", "a2", "~a1>2" },
	{ "the same again is nothing", "a1", "a1", "" },
	{ "an older version is a change like any other", "a2", "a1", "~a2>1" },
	{ "deleted and created under one name: both are told", "a1:x", "a2:y", "-a1 +a2" },
	{ "a new incarnation of the same version is new all the same", "a1:x", "a1:y", "-a1 +a1" },
	{ "names are apart", "a1", "b1", "+b1" },
};

static void put_all(struct store *store, const char *list, struct str *log)
{
	char word[16];
	int n;

	while (sscanf(list, "%15s%n", word, &n) == 1) {
		put(store, word, log);
		list += n;
	}
}

SUITE_OBJECT(store, store_new(&pcidevice_kind), store_free);

static void change_is_told(void **state)
{
	const struct change_case *row = suite_row(state);
	struct store *store = *state;
	auto_str struct str log = STR_INIT;

	put_all(store, row->have, &log);
	str_clear(&log);
	put_all(store, row->put, &log);
	assert_string_equal(str_cstr(&log), row->log);
}

static struct replace_case {
	const char *name;
	const char *have;
	const char *list; /* NULL: no list at all */
	const char *log;
	size_t len;
} replaces[] = {
	{ "a first list", "", "a1", "+a1", 1 },
	{ "the same list again", "a1 b1", "a1 b1", "", 2 },
	{ "a deletion that was never seen", "a1 b1", "b1", "-a1", 1 },
	{ "an empty list", "a1", "", "-a1", 0 },
	{ "no list", "a1", NULL, "-a1", 0 },
	{ "a change that was never seen", "a1", "a9", "~a1>9", 1 },
	{ "a recreation that was never seen", "a1:x", "a9:y", "-a1 +a9", 1 },
	{ "a stale list goes back in time", "a5", "a1", "~a5>1", 1 },
	{ "deletions come first", "a1", "b1", "-a1 +b1", 1 },
};

static void replace_tells_the_difference(void **state)
{
	const struct replace_case *row = suite_row(state);
	struct store *store = *state;
	struct store *list = row->list ? store_new(&pcidevice_kind) : NULL;
	auto_str struct str log = STR_INIT;
	auto_str struct str ignored = STR_INIT;

	put_all(store, row->have, &ignored);
	if (list)
		put_all(list, row->list, &ignored);
	store_replace(store, list, write_change, &log);
	assert_string_equal(str_cstr(&log), row->log);
	assert_int_equal(store_len(store), row->len);
	assert_int_equal(list ? store_len(list) : 0, 0);
	store_free(list);
}

static struct remove_case {
	const char *name;
	const char *uid;
	const char *log;
} removes[] = {
	{ "by its uid", "ux", "-a1" },
	{ "by name alone", NULL, "-a1" },
	{ "the deletion of an earlier incarnation is not ours", "uy", "" },
};

static void remove_is_told(void **state)
{
	const struct remove_case *row = suite_row(state);
	struct store *store = *state;
	auto_str struct str log = STR_INIT;

	put(store, "a1:x", &log);
	str_clear(&log);
	store_remove(store, "b", NULL, write_change, &log);
	store_remove(store, "a", row->uid, write_change, &log);
	assert_string_equal(str_cstr(&log), row->log);
	assert_int_equal(store_get(store, "a") == NULL, row->log[0] != '\0');
}

static struct entry *decode(const char *text, struct err *err)
{
	struct json_text json = { .text = text, .len = strlen(text) };

	return entry_decode(&pcidevice_kind, &json, err);
}

static void an_unreadable_object_is_not_absent(void **state)
{
	struct store *store = *state;
	auto_str struct str log = STR_INIT;
	struct err err = { 0 };
	struct entry *entry = decode("{\"metadata\":{\"name\":\"a\",\"uid\":\"u\","
				     "\"resourceVersion\":\"2\"},\"status\":{\"numaNode\":\"x\"}}",
				     &err);

	assert_non_null(entry);
	assert_non_null(strstr(err.msg, "PCIDevice 'a'"));
	assert_non_null(strstr(err.msg, "numaNode"));
	put(store, "a1", &log);
	store_put(store, entry, write_change, &log);
	assert_string_equal(str_cstr(&log), "+a1 ~a1>2");
	assert_int_equal(store_unreadable(store), 1);
	assert_null(store_object(store, "a"));
	assert_non_null(store_get(store, "a"));

	put(store, "a3", &log);
	assert_int_equal(store_unreadable(store), 0);
	assert_non_null(store_object(store, "a"));
}

static void an_object_without_a_name_is_none(void **state)
{
	struct err err = { 0 };

	assert_null(decode("{\"metadata\":{\"uid\":\"u\"}}", &err));
	assert_non_null(strstr(err.msg, "PCIDevice '?'"));
}

static const struct api_kind in_namespace_x = { .ns = "x", .size = sizeof(struct pcidevice) };

/* Of two objects with one name, each is there. */
static void all_namespaces_are_apart(void **state)
{
	static const char text[] = "{\"metadata\":{\"name\":\"a\",\"namespace\":\"x\"}}";
	struct json_text json = { .text = text, .len = strlen(text) };
	struct api_kind kind = in_namespace_x;
	struct entry *entry = entry_decode(&pcidevice_kind, &json, NULL);

	assert_string_equal(entry->name, "x/a");
	entry_free(&pcidevice_kind, entry);
	kind.map = pcidevice_kind.map;
	entry = entry_decode(&kind, &json, NULL);
	assert_string_equal(entry->name, "a");
	entry_free(&kind, entry);
}

/* Of an object what a store of names by address needs. */
static void *address_of(const void *object)
{
	const struct pcidevice *device = object;

	return xstrdup(device->status.address ? device->status.address : "");
}

static void a_digest_is_all_that_is_kept(void **state)
{
	struct api_kind kind = pcidevice_kind;
	const char *text = "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":"
			   "\"1\"},\"status\":{\"address\":\"0000:04:00.0\"}}";
	struct json_text json = { .text = text, .len = strlen(text) };
	auto_str struct str log = STR_INIT;
	struct err err = { 0 };
	struct store *store;

	kind.digest = address_of;
	store = store_new(&kind);
	store_put(store, entry_decode(&kind, &json, &err), write_change, &log);
	store_put(store, entry_decode(&kind, &json, &err), write_change, &log);
	assert_string_equal(str_cstr(&log), "+a1");
	assert_string_equal(store_object(store, "a"), "0000:04:00.0");
	assert_string_equal(store_get(store, "a")->uid, "u");
	store_free(store);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "objects of all namespaces are kept apart", all_namespaces_are_apart,
		  NULL);
	suite_add(&suite, "an object without a name is none", an_object_without_a_name_is_none,
		  NULL);
	suite_add(&suite, "a digest is all that is kept", a_digest_is_all_that_is_kept, NULL);
	suite_fixture(&suite, &store_fixture);
	suite_rows(&suite, changes, change_is_told);
	suite_rows(&suite, replaces, replace_tells_the_difference);
	suite_rows(&suite, removes, remove_is_told);
	suite_add(&suite, "an unreadable object is not absent", an_unreadable_object_is_not_absent,
		  NULL);
	return suite_run(&suite, "store");
}

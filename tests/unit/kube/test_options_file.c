#include "unit/folder.h"

#include <stdbool.h>

#include "base/err.h"
#include "base/options.h"
#include "kube/program.h"

struct settings {
	char *node;
	bool dry_run;
	uint64_t workers;
	struct option_list selectors;
};

static const struct option_row rows[] = {
	{ .name = "node-name",
	  .type = OPTION_STRING,
	  .offset = offsetof(struct settings, node),
	  .help = "" },
	{ .name = "dry-run",
	  .type = OPTION_BOOL,
	  .offset = offsetof(struct settings, dry_run),
	  .help = "" },
	{ .name = "workers",
	  .type = OPTION_U64,
	  .offset = offsetof(struct settings, workers),
	  .fallback = "2",
	  .help = "" },
	{ .name = "selector",
	  .type = OPTION_LIST,
	  .offset = offsetof(struct settings, selectors),
	  .help = "" },
};

static void a_file_sets_what_it_names(void **state)
{
	struct settings settings;
	struct options o;
	struct folder *folder = *state;
	auto_free char *path = NULL;
	struct err err = { 0 };

	folder_put(folder, "s.yaml",
		   "# mine\nnode-name: 42\ndry-run: true\nworkers:\n"
		   "selector:\n- a=b,c=d\n- e\n");
	path = folder_path(folder, "s.yaml");
	options_init(&o, rows, ARRAY_LEN(rows), &settings);
	if (program_read_file(&o, path, &err) < 0)
		fail_msg("%s", err.msg);
	assert_string_equal(settings.node, "42");
	assert_true(settings.dry_run);
	assert_int_equal(settings.workers, 2);
	assert_int_equal(settings.selectors.len, 2);
	assert_string_equal(settings.selectors.items[0], "a=b,c=d");
	options_done(&o);
}

static struct bad_case {
	const char *name;
	const char *text;
	const char *error; /* after the path */
} bads[] = {
	{ "an unknown key", "nodename: x\n",
	  ": unknown key 'nodename': did you mean 'node-name'?" },
	{ "a bad value", "workers: many\n", ": workers: 'many' is not a number" },
	{ "a mapping as value", "node-name: {a: b}\n",
	  ": node-name: give text, a whole number, true or false" },
	{ "a fraction", "workers: 1.5\n", ": workers: give text, a whole number, true or false" },
	{ "a list as a file", "- a\n", ": not a mapping of settings" },
	{ "a key twice", "workers: 1\nworkers: 2\n", ":2: key 'workers' is there twice" },
};

static void bad_file_is_explained(void **state)
{
	const struct bad_case *c = suite_row(state);
	struct settings settings;
	struct options o;
	struct folder *folder = *state;
	auto_free char *path = NULL;
	auto_free char *error = NULL;
	struct err err = { 0 };

	folder_put(folder, "s.yaml", c->text);
	path = folder_path(folder, "s.yaml");
	error = xasprintf("%s%s", path, c->error);
	options_init(&o, rows, ARRAY_LEN(rows), &settings);
	assert_true(program_read_file(&o, path, &err) < 0);
	assert_string_equal(err.msg, error);
	options_done(&o);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &folder_fixture);
	suite_add(&suite, "a file sets what it names", a_file_sets_what_it_names, NULL);
	suite_rows(&suite, bads, bad_file_is_explained);
	return suite_run(&suite, "options_file");
}

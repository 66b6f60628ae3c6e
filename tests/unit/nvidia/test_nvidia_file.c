/* nvidia_file: which file counts, and what becomes of the configuration when it changes, breaks or
 * goes. */
#include "agent/nvidia/nvidia_file.h"

#include "base/err.h"
#include "base/str.h"
#include "unit/folder.h"

#define PACKED   "flags: {plugin: {sharedDevicesAllocationPolicy: packed}}\n"
#define ENVVAR   "flags: {plugin: {deviceListStrategy: envvar}}\n"
#define WRONG    "version: v9\n"
#define NO_LABEL "-"

/*
 * "NAME TEXT" in turn write files of the folder; "label VALUE" sets the label, "-" none; "look"
 * appends what a look returns: "same", "unsettled", "new" or "error", and what is configured then:
 * "packed", "lists", "none", or "nothing" if no good file was ever read.
 */
static struct look_case {
	const char *name;
	const char *steps[20];
	const char *shows;
} cases[] = {
	{ "the label is waited for", { "default", PACKED, "look" }, "same:nothing" },
	{ "the file that the label names",
	  { "a", PACKED, "b", ENVVAR, "label", "a", "look", "look" },
	  "new:packed same:packed" },
	{ "no label: default",
	  { "a", PACKED, "default", ENVVAR, "label", NO_LABEL, "look" },
	  "new:lists" },
	{ "no label: the only file",
	  { "a", PACKED, "..data", WRONG, "label", NO_LABEL, "look" },
	  "new:packed" },
	{ "no label: one of several is no choice",
	  { "a", PACKED, "b", ENVVAR, "label", NO_LABEL, "look" },
	  "new:none" },
	{ "no label and no file", { "label", NO_LABEL, "look", "look" }, "new:none same:none" },
	{ "another label",
	  { "a", PACKED, "b", ENVVAR, "label", "a", "look", "label", "b", "look", "look" },
	  "new:packed unsettled:packed new:lists" },
	{ "a label of no file",
	  { "a", PACKED, "label", "a", "look", "label", "c", "look", "look", "label", "a", "look" },
	  "new:packed error:packed error:packed same:packed" },
	{ "a label of no file at first",
	  { "label", "c", "look", "c", PACKED, "look" },
	  "error:nothing new:packed" },
	{ "a label that leaves the folder", { "label", "../a", "look" }, "error:nothing" },
	{ "a label that is the folder", { "label", "..", "look" }, "error:nothing" },
	{ "a text that changes is read twice",
	  { "a", PACKED, "label", "a", "look", "a", "flags: {plug", "look", "a", ENVVAR, "look",
	    "look", "look" },
	  "new:packed unsettled:packed unsettled:packed new:lists same:lists" },
	{ "the last good one stays",
	  { "a", PACKED, "label", "a", "look", "a", WRONG, "look", "look", "look", "a", ENVVAR,
	    "look", "look" },
	  "new:packed unsettled:packed error:packed error:packed unsettled:packed new:lists" },
	{ "a wrong file at first",
	  { "a", WRONG, "label", "a", "look", "a", PACKED, "look" },
	  "error:nothing new:packed" },
};

static void show(const struct nvidia_file *file, int result, struct str *out)
{
	static const char *const results[] = { "same", "unsettled", "new" };
	const struct nvidia_config *config = &file->config;

	str_addf(out, "%s%s:", out->len ? " " : "", result < 0 ? "error" : results[result]);
	if (!file->is_read)
		str_add(out, "nothing");
	else if (config->packed)
		str_add(out, "packed");
	else
		str_add(out, config->lists ? "lists" : "none");
}

static const char *const *step(const struct folder *folder, struct nvidia_file *file,
			       const char *const *steps, struct str *out)
{
	struct err err = { 0 };

	if (strcmp(steps[0], "look") == 0) {
		show(file, nvidia_file_look(file, &err), out);
		return steps + 1;
	}
	if (strcmp(steps[0], "label") == 0)
		(void)nvidia_file_set_label(file,
					    strcmp(steps[1], NO_LABEL) == 0 ? NULL : steps[1]);
	else
		folder_put(folder, steps[0], steps[1]);
	return steps + 2;
}

static void looks_match_table(void **state)
{
	const struct folder *folder = *state;
	const struct look_case *c = suite_row(state);
	struct nvidia_file file = { .folder = folder->path };
	auto_str struct str out = STR_INIT;
	const char *const *steps = c->steps;

	while (*steps)
		steps = step(folder, &file, steps, &out);
	nvidia_file_done(&file);
	assert_string_equal(str_cstr(&out), c->shows);
}

static void a_file_needs_no_label(void **state)
{
	const struct folder *folder = *state;
	auto_free char *path = folder_path(folder, "config.yaml");
	struct nvidia_file file = { .path = path };
	struct err err = { 0 };

	assert_int_equal(nvidia_file_look(&file, &err), -ENOENT);
	folder_put(folder, "config.yaml", PACKED);
	assert_int_equal(nvidia_file_look(&file, &err), NVIDIA_FILE_NEW);
	assert_true(file.config.packed);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(nvidia_file_look(&file, &err), -ENOENT);
	assert_true(file.is_read && file.config.packed);
	nvidia_file_done(&file);
}

static void without_a_file_the_text_that_is_given_counts(void **state)
{
	struct nvidia_file file = { 0 };
	struct err err = { 0 };

	(void)state;
	assert_int_equal(nvidia_file_look(&file, &err), NVIDIA_FILE_SAME);
	assert_false(file.is_read);
	assert_true(nvidia_file_give(&file, NULL, NULL));
	assert_false(nvidia_file_give(&file, NULL, NULL));
	assert_int_equal(nvidia_file_look(&file, &err), NVIDIA_FILE_NEW);
	assert_int_equal(nvidia_file_look(&file, &err), NVIDIA_FILE_SAME);
	assert_true(file.is_read && !file.config.packed);
	assert_true(nvidia_file_give(&file, "entry", PACKED));
	assert_int_equal(nvidia_file_look(&file, &err), NVIDIA_FILE_UNSETTLED);
	assert_int_equal(nvidia_file_look(&file, &err), NVIDIA_FILE_NEW);
	assert_true(file.config.packed);
	assert_true(nvidia_file_give(&file, "entry", WRONG));
	assert_int_equal(nvidia_file_look(&file, &err), NVIDIA_FILE_UNSETTLED);
	assert_true(nvidia_file_look(&file, &err) < 0);
	assert_string_equal(err.msg, "entry: unknown version: 'v9'");
	assert_true(file.config.packed);
	nvidia_file_done(&file);
}

static void labels_are_compared(void **state)
{
	struct nvidia_file file = { 0 };

	(void)state;
	assert_true(nvidia_file_set_label(&file, NULL));
	assert_false(nvidia_file_set_label(&file, NULL));
	assert_false(nvidia_file_set_label(&file, ""));
	assert_true(nvidia_file_set_label(&file, "a"));
	assert_false(nvidia_file_set_label(&file, "a"));
	assert_true(nvidia_file_set_label(&file, NULL));
	nvidia_file_done(&file);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "without a file, nothing is configured",
		  without_a_file_the_text_that_is_given_counts, NULL);
	suite_add(&suite, "labels are compared", labels_are_compared, NULL);
	suite_fixture(&suite, &folder_fixture);
	suite_rows(&suite, cases, looks_match_table);
	suite_add(&suite, "a file needs no label", a_file_needs_no_label, NULL);
	return suite_run(&suite, "nvidia_file");
}

/* cdi_files: which devices the CDI files of a node describe, whatever is in its folders. */
#include "agent/nvidia/cdi_files.h"

#include "base/str.h"
#include "unit/folder.h"

#define KIND "nvidia.com/gpu"

static const char no_file[] =
	"no CDI file in /etc/cdi or /var/run/cdi describes it; run nvidia-ctk cdi "
	"generate with --device-name-strategy=uuid";
static const char conflict[] = "two CDI files of one folder describe it; remove one of them from "
			       "/etc/cdi or /var/run/cdi";

#define JSON(names) "{\"cdiVersion\":\"0.5.0\",\"kind\":\"" KIND "\",\"devices\":[" names "]}"
#define GPU(n)      "{\"name\":\"GPU-" n "\",\"containerEdits\":{}}"
#define YAML                                                                                  \
	"---\ncdiVersion: 0.5.0\nkind: " KIND "\ndevices:\n- name: \"0\"\n  containerEdits: " \
	"{}\n- name: GPU-0\n- name: all\n"

static struct files_case {
	const char *name;
	const char *files[6]; /* path and text, in turn */
	const char *trouble;  /* of GPU-0               */
} cases[] = {
	{ "there is no folder", { NULL }, no_file },
	{ "a YAML file as nvidia-ctk writes it", { "run/nvidia.yaml", YAML }, NULL },
	{ "a JSON file", { "run/nvidia.json", JSON(GPU("1") "," GPU("0")) }, NULL },
	{ "a file in /etc/cdi", { "etc/nvidia.yaml", YAML }, NULL },
	{ "another device", { "run/nvidia.json", JSON(GPU("1")) }, no_file },
	{ "another kind",
	  { "run/a.json", "{\"kind\":\"a.com/gpu\",\"devices\":[" GPU("0") "]}" },
	  no_file },
	{ "another end of the name", { "run/nvidia.txt", YAML }, no_file },
	{ "what is no CDI file",
	  { "run/a.json", "[1]", "run/b.yaml", "a: [", "run/c.json", JSON(GPU("0")) },
	  NULL },
	{ "devices of another form", { "run/a.json", JSON("1,{},{\"name\":2}") }, no_file },
	{ "an empty file", { "run/a.yaml", "" }, no_file },
	{ "a file that is half written",
	  { "run/a.json", "{\"kind\":\"" KIND "\",\"dev" },
	  no_file },
	{ "two files of one folder",
	  { "run/a.json", JSON(GPU("0")), "run/b.yaml", YAML },
	  conflict },
	{ "a file of each folder", { "etc/a.json", JSON(GPU("0")), "run/b.yaml", YAML }, NULL },
	{ "one in /var/run/cdi goes before two",
	  { "etc/a.json", JSON(GPU("0")), "etc/b.yaml", YAML, "run/c.yaml", YAML },
	  NULL },
};

static void put(const struct folder *folder, const char *name, const char *text)
{
	auto_free char *path =
		xasprintf("%s/cdi%s", *name == 'r' ? "var/run" : "etc", strchr(name, '/'));

	folder_put(folder, path, text);
}

static void trouble_matches_table(void **state)
{
	const struct folder *folder = *state;
	const struct files_case *c = suite_row(state);
	struct cdi_files files;
	struct cdi_files again;
	const char *trouble;

	folder_put(folder, "etc/none", "");
	folder_put(folder, "var/none", "");
	folder_put(folder, "var/run/none", "");
	for (size_t i = 0; i < ARRAY_LEN(c->files) && c->files[i]; i += 2)
		put(folder, c->files[i], c->files[i + 1]);
	cdi_files_read(folder->path, KIND, &files);
	cdi_files_read(folder->path, KIND, &again);
	trouble = cdi_files_trouble(&files, "GPU-0");
	assert_true(cdi_files_equal(&files, &again));
	cdi_files_done(&again);
	cdi_files_read(NULL, "nobody.com/has-this", &again);
	assert_int_equal(cdi_files_equal(&files, &again), files.devices.len == 0);
	cdi_files_done(&again);
	cdi_files_done(&files);
	if (c->trouble)
		assert_string_equal(trouble, c->trouble);
	else
		assert_null(trouble);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &folder_fixture);
	suite_rows(&suite, cases, trouble_matches_table);
	return suite_run(&suite, "cdi_files");
}

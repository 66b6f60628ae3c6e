#include "agent/gpu/smi_table.h"

#include <string.h>

#include "base/str.h"
#include "unit/gpu/smi_texts.h"
#include "unit/suite.h"

static struct table_case {
	const char *name;
	const char *text;
	const char *rows;
} profile_cases[] = {
	{ "an A100's profiles", SMI_A100_PROFILES,
	  "MIG 1g.5gb 19 7/7 4864\n"
	  "MIG 1g.5gb+me 20 1/1 4864\n"
	  "MIG 2g.10gb 14 3/3 9984\n"
	  "MIG 3g.20gb 9 2/2 20090\n"
	  "MIG 4g.20gb 5 1/1 20090\n"
	  "MIG 7g.40gb 0 1/1 40448\n" },
	{ "nothing", "", "" },
	{ "another column is passed over", "|   0  MIG 1g.5gb  19  0/7  4.75  whatever 3\n",
	  "MIG 1g.5gb 19 0/7 4864\n" },
	{ "without the memory it is a profile all the same", "| 0 MIG 1g.5gb 19 0/7 |\n",
	  "MIG 1g.5gb 19 0/7 0\n" },
	{ "a second line of a row is none", "|   1     0     0   |\n", "" },
	{ "a negative id is no row", "| 0 MIG 1g.5gb -1 7/7 4.75 |\n", "" },
	{ "a number that is too large is no row", "| 0 MIG 1g.5gb 4294967315 7/7 4.75 |\n", "" },
	{ "half a pair is no row", "| 0 MIG 1g.5gb 19 7 4.75 |\n| 0 MIG 1g.5gb 19 7/ 1 |\n", "" },
	{ "a name that is not MIG's is no row", "| 0 GIG 1g.5gb 19 7/7 4.75 |\n", "" },
	{ "a name with a quote is no row", "| 0 MIG 1g\"5gb 19 7/7 4.75 |\n", "" },
	{ "a cut last line is no row", "|   0  MIG 1g.5gb        19", "" },
};

SUITE_CLOSING(smi_profiles, struct smi_profiles, array_done);
SUITE_CLOSING(smi_instances, struct smi_instances, array_done);
SUITE_CLOSING(smi_computes, struct smi_computes, array_done);

static void profiles_are(void **state)
{
	const struct table_case *c = suite_row(state);
	struct smi_profiles *list = *state;
	auto_str struct str got = STR_INIT;

	smi_profiles_parse(c->text, strlen(c->text), list);
	for (size_t i = 0; i < list->len; i++)
		str_addf(&got, "%s %d %d/%d %d\n", list->items[i].name, list->items[i].id,
			 list->items[i].available, list->items[i].total, list->items[i].memory_mib);
	assert_string_equal(str_cstr(&got), c->rows);
}

static struct table_case instance_cases[] = {
	{ "two instances", SMI_A100_INSTANCES, "MIG 3g.20gb 9 1 4:4\nMIG 3g.20gb 9 2 0:4\n" },
	{ "no instance", SMI_NO_INSTANCES, "" },
	{ "a newer driver's wider table",
	  "|   0  MIG 1g.10gb           19        7          0:1     |\n",
	  "MIG 1g.10gb 19 7 0:1\n" },
	{ "without a place", "| 0 MIG 1g.10gb 19 7 |\n", "MIG 1g.10gb 19 7 -1:-1\n" },
};

static void instances_are(void **state)
{
	const struct table_case *c = suite_row(state);
	struct smi_instances *list = *state;
	auto_str struct str got = STR_INIT;

	smi_instances_parse(c->text, strlen(c->text), list);
	for (size_t i = 0; i < list->len; i++)
		str_addf(&got, "%s %d %d %d:%d\n", list->items[i].name, list->items[i].profile,
			 list->items[i].id, list->items[i].start, list->items[i].size);
	assert_string_equal(str_cstr(&got), c->rows);
}

static struct table_case compute_cases[] = {
	{ "two compute instances", SMI_A100_COMPUTES, "1 0\n2 1\n" },
	{ "no compute instance", SMI_NO_COMPUTES, "" },
};

static void computes_are(void **state)
{
	const struct table_case *c = suite_row(state);
	struct smi_computes *list = *state;
	auto_str struct str got = STR_INIT;

	smi_computes_parse(c->text, strlen(c->text), list);
	for (size_t i = 0; i < list->len; i++)
		str_addf(&got, "%d %d\n", list->items[i].instance, list->items[i].id);
	assert_string_equal(str_cstr(&got), c->rows);
}

static struct mode_case {
	const char *name;
	const char *text;
	enum smi_mode mode;
} mode_cases[] = {
	{ "off", "mig.mode.current\nDisabled\n", SMI_MODE_DISABLED },
	{ "on", "mig.mode.current\nEnabled\n", SMI_MODE_ENABLED },
	{ "without a header", "Enabled", SMI_MODE_ENABLED },
	{ "a card that cannot", "mig.mode.current\n[N/A]\n", SMI_MODE_NONE },
	{ "an old driver's word for it", "mig.mode.current\n[Not Supported]\n", SMI_MODE_NONE },
	{ "an end of line of another system", "Enabled \r\n", SMI_MODE_ENABLED },
	{ "an error is no mode", "No devices were found\n", SMI_MODE_UNKNOWN },
	{ "a word in a sentence is no mode", "MIG is Enabled\n", SMI_MODE_UNKNOWN },
	{ "nothing is no mode", "", SMI_MODE_UNKNOWN },
};

static void mode_is(void **state)
{
	const struct mode_case *c = *state;

	assert_int_equal(smi_mode_parse(c->text, strlen(c->text)), c->mode);
}

static void long_tables_are_cut(void **state)
{
	struct smi_instances *list = *state;
	auto_str struct str text = STR_INIT;

	for (int i = 0; i < 1000; i++)
		str_addf(&text, "| 0 MIG 1g.5gb 19 %d 0:1 |\n", i);
	smi_instances_parse(text.buf, text.len, list);
	assert_int_equal(list->len, SMI_ROWS_MAX);
}

static void none_is_told(void **state)
{
	assert_true(smi_says_none(SMI_NO_INSTANCES, strlen(SMI_NO_INSTANCES)));
	assert_true(smi_says_none(SMI_NO_COMPUTES, strlen(SMI_NO_COMPUTES)));
	assert_false(smi_says_none(SMI_A100_INSTANCES, strlen(SMI_A100_INSTANCES)));
	assert_false(smi_says_none("", 0));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, mode_cases, mode_is);
	suite_add(&suite, "that there is none is told", none_is_told, NULL);
	suite_fixture(&suite, &smi_profiles_fixture);
	suite_rows(&suite, profile_cases, profiles_are);
	suite_fixture(&suite, &smi_instances_fixture);
	suite_rows(&suite, instance_cases, instances_are);
	suite_add(&suite, "a table of a thousand rows is cut", long_tables_are_cut, NULL);
	suite_fixture(&suite, &smi_computes_fixture);
	suite_rows(&suite, compute_cases, computes_are);
	return suite_run(&suite, "smi_table");
}

#include "unit/suite.h"

#include <string.h>

#include "cli/command.h"
#include "cli/commands.h"
#include "cli/complete.h"
#include "unit/cli/made.h"

static const struct command *const commands[] = { &tree_command,       &why_command,
						  &claim_command,      &release_command,
						  &completion_command, NULL };

/* The words of a line are parted by blanks; it ends in one if the last word is yet to begin. */
static struct offer_case {
	const char *name;
	const char *words;
	const char *offered;
} offers[] = {
	{ "commands by their beginning", "c", "claim\ncompletion\n" },
	{ "commands behind a flag", "--context a w", "why\n" },
	{ "nothing for what no command begins with", "x", "" },
	{ "flags", "claim --dr", "--dry-run\n--driver\n" },
	{ "a flag that all have", "tree --he", "--help\n" },
	{ "choices", "tree -o ", "table\nwide\njson\nyaml\nname\njsonpath=\n" },
	{ "choices behind =", "tree --output=y", "--output=yaml\n" },
	{ "shells", "completion ", "bash\nzsh\n" },
	{ "one node is enough", "tree vm1 ", "" },
	{ "its choices behind =", "claim --dry-run=s", "--dry-run=server\n" },
	{ "flags of kubectl's", "tree --cl", "--cluster\n--client-certificate\n--client-key\n" },
	{ "but not whom to act as", "tree --as", "" },
	{ "all namespaces", "tree --al", "--all-namespaces\n" },
	{ "nothing behind what is no command", "clam ", "tree\nwhy\nclaim\nrelease\ncompletion\n" },
};

/* What the program does not know by itself. */
static struct ask_case {
	const char *name;
	const char *words;
	enum complete_words wants;
} asks[] = {
	{ "nodes of the cluster", "tree ", COMPLETE_NODES },
	{ "devices", "why vm1", COMPLETE_DEVICES },
	{ "devices to claim, as many as one likes", "claim a b --no-wait c", COMPLETE_CLAIMABLE },
	{ "devices to release", "release --timeout 5s ", COMPLETE_CLAIMED },
	{ "a flag that needs no value takes no word", "claim --dry-run ", COMPLETE_CLAIMABLE },
	{ "names of the kubeconfig", "why --context ", COMPLETE_VALUES },
	{ "names of the kubeconfig behind =", "why --cluster=a", COMPLETE_VALUES },
	{ "namespaces", "who -n ", COMPLETE_VALUES },
	{ "resources", "claim --resource ", COMPLETE_RESOURCES },
	{ "resources behind =", "claim --count 2 --resource=i", COMPLETE_RESOURCES },
	{ "nodes of a claim", "claim --resource r --node ", COMPLETE_NODES },
};

static struct file_case {
	const char *name;
	const char *words;
} files[] = {
	{ "files for a file", "tree --kubeconfig " },
	{ "files for a certificate", "why --client-certificate " },
};

/* Without what is behind tabs. */
static char *names_of(const char *text)
{
	auto_str struct str names = STR_INIT;

	for (bool skip = false; *text; text++) {
		if (*text == '\t')
			skip = true;
		if (*text == '\n')
			skip = false;
		if (!skip)
			str_add_char(&names, *text);
	}
	return str_detach(&names);
}

enum { WORDS_MAX = 8 };

static size_t split(char *text, char *words[WORDS_MAX])
{
	size_t len = 0;

	words[len++] = text;
	for (char *c = text; *c; c++) {
		if (*c != ' ')
			continue;
		*c = '\0';
		assert_true(len < WORDS_MAX);
		words[len++] = c + 1;
	}
	return len;
}

static void check_line(const char *line_words, const char *offered, int directive,
		       enum complete_words wants)
{
	auto_free char *text = xstrdup(line_words);
	char *words[WORDS_MAX];
	struct complete_line line = { .commands = commands, .words = words };
	struct complete_want want;
	auto_str struct str to = STR_INIT;
	auto_free char *names = NULL;

	line.len = split(text, words);
	assert_int_equal(complete_line(&line, &want, &to), directive);
	names = names_of(str_cstr(&to));
	assert_string_equal(names, offered);
	assert_int_equal(want.words, wants);
	complete_want_done(&want);
}

static void what_the_program_knows_is_offered(void **state)
{
	const struct offer_case *c = *state;

	check_line(c->words, c->offered, COMPLETE_NO_FILES, COMPLETE_NOTHING);
}

static void what_it_does_not_know_is_asked_for(void **state)
{
	const struct ask_case *c = *state;

	check_line(c->words, "", COMPLETE_NO_FILES, c->wants);
}

static void files_are_the_shells(void **state)
{
	const struct file_case *c = *state;

	check_line(c->words, "", COMPLETE_FILES, COMPLETE_NOTHING);
}

static void the_line_says_which_cluster(void **state)
{
	char text[] = "why --kubeconfig /a/b --context=c --as-group=g,h vm1";
	char *words[WORDS_MAX];
	struct complete_line line = { .commands = commands, .words = words };
	struct complete_want want;
	auto_str struct str to = STR_INIT;

	line.len = split(text, words);
	complete_line(&line, &want, &to);
	assert_string_equal(want.settings->kubeconfig, "/a/b");
	assert_string_equal(want.settings->context, "c");
	assert_int_equal(want.settings->as_groups.len, 1);
	assert_string_equal(want.settings->as_groups.items[0], "g,h");
	complete_want_done(&want);
}

static struct names_case {
	const char *name;
	enum complete_words words;
	const char *prefix;
	const char *offered;
} names[] = {
	{ "nodes", COMPLETE_NODES, "", "vm1\nvm2\n" },
	{ "devices of a node, with what they are", COMPLETE_DEVICES, "vm2",
	  "vm2-000003000\tunknown: 82576\nvm2-000009000\tmissing: \n" },
	{ "devices that may be claimed", COMPLETE_CLAIMABLE, "vm1-00000",
	  "vm1-000003001\tclaimable: 82576\n" },
	{ "addresses, behind a node and a slash", COMPLETE_CLAIMABLE, "vm1/0000:03",
	  "vm1/0000:03:00.1\tclaimable: 82576\n" },
	{ "devices that are claimed", COMPLETE_CLAIMED, "",
	  "vm1-000003100\tin use: 82576 VF\nvm1-0951-1666-001005\tpending: Stick\n"
	  "vm2-000009000\tmissing: \n" },
};

static void names_are_offered(void **state)
{
	const struct names_case *c = suite_row(state);
	struct cluster *cluster = *state;
	struct complete_want want = { .words = c->words };
	auto_str struct str to = STR_INIT;

	complete_names(cluster, &want, c->prefix, &to);
	assert_string_equal(str_cstr(&to), c->offered);
}

/* Two that may be claimed and one that has a claim, of one resource; one of another. */
static void resources_are_offered_once(void **state)
{
	char before[] = "--resource=";
	struct cluster *cluster = cluster_new();
	struct complete_want want = { .words = COMPLETE_RESOURCES, .before = before };
	auto_str struct str to = STR_INIT;

	(void)state;
	for (int i = 0; i < 4; i++) {
		auto_free char *json = xasprintf(
			MADE_PCI("n-%d", "n", "0000:00:0%d.0",
				 "'resourceName':'a.com/%s','conditions':[" MADE_CONDITION(
					 "Claimable", "True", "Available", "") "]"),
			i, i, i < 3 ? "x" : "y");

		made_put(cluster, CLUSTER_PCIDEVICE, json);
	}
	made_put(cluster, CLUSTER_PCICLAIM, "{'metadata':{'name':'n-0'}}");
	complete_names(cluster, &want, "--resource=a", &to);
	assert_string_equal(str_cstr(&to),
			    "--resource=a.com/x\t2 claimable\n--resource=a.com/y\t1 claimable\n");
	str_clear(&to);
	complete_names(cluster, &want, "--resource=b", &to);
	assert_string_equal(str_cstr(&to), "");
	cluster_free(cluster);
}

static void what_is_on_the_line_is_not_offered_again(void **state)
{
	char taken[] = "vm1-000003100";
	char place[] = "vm1/0000:03:10.0";
	char *list[] = { taken };
	struct cluster *cluster = *state;
	struct complete_want want = { .words = COMPLETE_CLAIMED, .taken = list, .taken_len = 1 };
	auto_str struct str to = STR_INIT;

	complete_names(cluster, &want, "vm1-000", &to);
	assert_string_equal(str_cstr(&to), "");
	list[0] = place;
	complete_names(cluster, &want, "vm1/0000:03:1", &to);
	assert_string_equal(str_cstr(&to), "");
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, offers, what_the_program_knows_is_offered);
	suite_rows(&suite, asks, what_it_does_not_know_is_asked_for);
	suite_rows(&suite, files, files_are_the_shells);
	suite_add(&suite, "the line says which cluster is asked", the_line_says_which_cluster,
		  NULL);
	suite_add(&suite, "resources are offered once", resources_are_offered_once, NULL);
	suite_fixture(&suite, &cluster_fixture);
	suite_rows(&suite, names, names_are_offered);
	suite_add(&suite, "what is on the line is not offered again",
		  what_is_on_the_line_is_not_offered_again, NULL);
	return suite_run(&suite, "complete");
}

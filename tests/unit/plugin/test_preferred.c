/* Which devices a container had better get. */
#include "agent/plugin/preferred.h"

#include <stdio.h>
#include <string.h>

#include "api/json_values.h"
#include "base/num.h"
#include "base/str.h"
#include "unit/suite.h"

enum { CANDIDATES_MAX = 16 };

/* Candidates are written "ID@NODE/ROOT" or "ID@NODE/ROOT#GROUP", with "!" before the ones that the
 * container must have. */
static struct choice_case {
	const char *name;
	const char *candidates;
	size_t size;
	const char *chosen;
} choices[] = {
	{ "nothing is asked for", "a@0/x b@0/x", 0, "" },
	{ "nothing is there", "", 2, "" },
	{ "all that is there is less than asked for", "a@0/x b@1/x", 9, "a b" },
	{ "the order of the candidates decides in the end", "c@0/x a@0/x b@0/x", 2, "c a" },
	{ "what a container must have comes first", "a@0/x b@0/x !c@0/x", 2, "c a" },
	{ "musts beyond the size are cut", "!a@0/x !b@0/x", 1, "a" },
	{ "the node of a must goes before another", "a@0/x b@0/x !c@1/y d@1/y", 2, "c d" },
	{ "the root of a must goes before another", "a@0/x !b@0/y c@0/y d@0/x", 2, "b c" },
	{ "one node that has enough goes before two", "a@0/x b@1/y c@1/y", 2, "b c" },
	{ "the smaller of two nodes that have enough", "a@0/x b@0/x c@0/x d@1/y e@1/y", 2, "d e" },
	{ "no node has enough: the larger one first", "a@0/x b@1/y c@1/y", 3, "b c a" },
	{ "one root that has enough goes before two", "a@0/x b@0/y c@0/y", 2, "b c" },
	{ "the smaller of two roots that have enough", "a@0/x b@0/x c@0/x d@0/y e@0/y", 2, "d e" },
	{ "a node goes before a root", "a@0/x b@1/x c@1/y", 2, "b c" },
	{ "same root name on two nodes is two roots", "a@0/x b@1/x c@1/x", 2, "b c" },
	{ "two nodes with musts go before a third", "!a@0/x !b@1/y c@2/z d@1/y e@0/x", 4,
	  "a b e d" },
	{ "one group that has enough goes before two", "a@0/x#1 b@0/x#2 c@0/x#2", 2, "b c" },
	{ "the smaller of two groups that have enough", "a@0/x#1 b@0/x#1 c@0/x#2", 1, "c" },
	{ "the group of a must goes before another", "a@0/x#1 !b@0/x#2 c@0/x#2", 2, "b c" },
	{ "no group has enough: the larger one first", "a@0/x#1 b@0/x#2 c@0/x#2", 3, "b c a" },
	{ "a root goes before a group", "a@0/x#1 b@0/x#2 c@0/y#3 d@0/y#3 e@0/y#3", 2, "a b" },
	{ "no node and no root are known", "a@-1/ b@-1/ c@-1/", 2, "a b" },
};

struct scene {
	struct preferred_candidate candidates[CANDIDATES_MAX];
	size_t len;
	char *text;
};

static void candidate_parse(struct preferred_candidate *c, char *word)
{
	int64_t node = 0;
	char *slash = strchr(word, '/');
	char *at = strchr(word, '@');
	char *hash = strchr(word, '#');

	if (hash)
		*hash = '\0';
	*slash = *at = '\0';
	assert_true(str_to_i64(at + 1, &node));
	c->must = word[0] == '!';
	c->id = word + c->must;
	c->numa_node = (int)node;
	c->root = slash[1] ? slash + 1 : NULL;
	c->group = hash ? hash + 1 : NULL;
}

static void scene_parse(struct scene *scene, const char *text)
{
	char *rest = scene->text = xstrdup(text);
	char *word;

	while (*text && (word = strsep(&rest, " ")))
		candidate_parse(&scene->candidates[scene->len++], word);
}

static void choice_matches_table(void **state)
{
	const struct choice_case *c = *state;
	struct scene scene = { .len = 0 };
	struct json_strs chosen = { 0 };
	auto_str struct str text = STR_INIT;

	scene_parse(&scene, c->candidates);
	preferred_choose(scene.candidates, scene.len, c->size, &chosen);
	for (size_t i = 0; i < chosen.len; i++)
		str_addf(&text, "%s%s", i ? " " : "", chosen.items[i]);
	assert_string_equal(str_cstr(&text), c->chosen);
	json_strs_done(&chosen);
	free(scene.text);
}

/* Of one node if that is possible at all, musts in front, none twice, as many as asked for. */
static void check_choice(const struct preferred_candidate *all, size_t len, size_t size)
{
	struct json_strs chosen = { 0 };
	size_t per_node[3] = { 0 };
	size_t used_nodes = 0;
	bool one_has_enough = false;
	size_t used[3] = { 0 };

	preferred_choose(all, len, size, &chosen);
	assert_int_equal(chosen.len, size < len ? size : len);
	for (size_t i = 0; i < len; i++)
		per_node[all[i].numa_node]++;
	for (size_t i = 0; i < chosen.len; i++) {
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(chosen.items[i], chosen.items[k]);
		used[all[chosen.items[i][0] - 'a'].numa_node]++;
	}
	for (size_t i = 0; i < 3; i++) {
		used_nodes += used[i] > 0;
		one_has_enough |= per_node[i] >= size;
	}
	if (one_has_enough)
		assert_true(used_nodes <= 1);
	json_strs_done(&chosen);
}

static void one_node_if_possible(void **state)
{
	static const char *const ids[] = { "a", "b", "c", "d", "e", "f", "g", "h" };
	static const char *const roots[] = { "x", "y", NULL };
	uint64_t seed = 5;

	for (int round = 0; round < 5000; round++) {
		struct preferred_candidate all[ARRAY_LEN(ids)];
		size_t len = suite_random(&seed) % (ARRAY_LEN(ids) + 1);

		for (size_t i = 0; i < len; i++)
			all[i] = (struct preferred_candidate){
				.id = ids[i],
				.numa_node = (int)(suite_random(&seed) % 3),
				.root = roots[suite_random(&seed) % 3]
			};
		check_choice(all, len, suite_random(&seed) % (len + 2));
	}
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_rows(&suite, choices, choice_matches_table);
	suite_add(&suite, "devices are of one node if that is possible", one_node_if_possible,
		  NULL);
	return suite_run(&suite, "preferred");
}

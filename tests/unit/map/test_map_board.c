#include "unit/suite.h"

#include <stdbool.h>
#include <string.h>

#include "base/str.h"
#include "cli/map/map_board.h"

/* A board and what its cards are made of: one value per id "a" to "z", 0 for none; and how often
 * they were made. */
struct source {
	int values['z' + 1];
	size_t pad; /* blanks in each card */
	unsigned made;
	struct map_board *board;
};

static char *make(void *arg, const char *id)
{
	struct source *source = arg;
	int value = source->values[(int)id[0]];

	source->made++;
	return value ? xasprintf("{\"id\":\"%s\",\"value\":%d%*s}", id, value, (int)source->pad, "")
		     : NULL;
}

static void source_open(struct source *source)
{
	source->board = map_board_new(make, source);
}

static void source_close(struct source *source)
{
	map_board_free(source->board);
}

SUITE_FIXTURE(source, struct source, source_open, source_close);

static void set(struct source *source, char id, int value)
{
	char text[2] = { id, '\0' };

	source->values[(int)id] = value;
	map_board_mark(source->board, text);
}

static void takes(struct source *source, const char *want)
{
	auto_str struct str out = STR_INIT;
	bool changed = map_board_write_changes(source->board, &out);

	assert_int_equal(changed, *want != '\0');
	assert_string_equal(str_cstr(&out), want);
	assert_false(map_board_has_changes(source->board));
}

static void changes_are_told_once(void **state)
{
	struct source *source = *state;

	takes(source, "");
	set(source, 'a', 1);
	assert_true(map_board_has_changes(source->board));
	takes(source,
	      "event: change\ndata: {\"cards\":[{\"id\":\"a\",\"value\":1}],\"gone\":[]}\n\n");
	takes(source, "");
}

static void many_changes_of_one_are_one(void **state)
{
	struct source *source = *state;

	for (int i = 1; i <= 100; i++)
		set(source, 'a', i);
	takes(source,
	      "event: change\ndata: {\"cards\":[{\"id\":\"a\",\"value\":100}],\"gone\":[]}\n\n");
	assert_int_equal(source->made, 1);
}

static void what_says_the_same_is_not_told(void **state)
{
	struct source *source = *state;

	set(source, 'a', 1);
	takes(source,
	      "event: change\ndata: {\"cards\":[{\"id\":\"a\",\"value\":1}],\"gone\":[]}\n\n");
	set(source, 'a', 2);
	set(source, 'a', 1);
	takes(source, "");
}

static void what_is_gone_is_told_gone_once(void **state)
{
	struct source *source = *state;

	set(source, 'a', 1);
	takes(source,
	      "event: change\ndata: {\"cards\":[{\"id\":\"a\",\"value\":1}],\"gone\":[]}\n\n");
	set(source, 'a', 0);
	assert_int_equal(map_board_len(source->board), 1);
	takes(source, "event: change\ndata: {\"cards\":[],\"gone\":[\"a\"]}\n\n");
	assert_int_equal(map_board_len(source->board), 0);
	set(source, 'a', 0);
	takes(source, "");
}

/* Added and removed between two takes: it is not reported. */
static void what_came_and_went_is_not_told(void **state)
{
	struct source *source = *state;

	set(source, 'a', 1);
	set(source, 'a', 0);
	takes(source, "");
}

static void all_is_what_was_told(void **state)
{
	struct source *source = *state;
	auto_str struct str out = STR_INIT;

	map_board_write_all(source->board, &out);
	assert_int_equal(out.len, 0);
	set(source, 'a', 7);
	takes(source,
	      "event: change\ndata: {\"cards\":[{\"id\":\"a\",\"value\":7}],\"gone\":[]}\n\n");
	set(source, 'a', 8); /* comes with the next change */
	map_board_write_all(source->board, &out);
	assert_string_equal(
		str_cstr(&out),
		"event: change\ndata: {\"cards\":[{\"id\":\"a\",\"value\":7}],\"gone\":[]}\n\n");
}

/* So that a page draws the first while it reads the second. */
static void much_is_told_in_pieces(void **state)
{
	struct source *source = *state;
	auto_str struct str out = STR_INIT;
	size_t cards = 0;
	size_t told = 0;

	source->pad = 20480;
	for (const char *id = "abcdefghijklmnopqrstuvwxyz"; *id; id++)
		set(source, *id, 1);
	assert_true(map_board_write_changes(source->board, &out));
	for (const char *at = str_cstr(&out); (at = strstr(at, "event: change\n")); at++)
		told++;
	for (const char *at = str_cstr(&out); (at = strstr(at, "\"id\":")); at++)
		cards++;
	assert_int_equal(cards, 26);
	assert_in_range(told, 5, 9);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &source_fixture);
	suite_add(&suite, "changes are told once", changes_are_told_once, NULL);
	suite_add(&suite, "many changes of one are one", many_changes_of_one_are_one, NULL);
	suite_add(&suite, "what says the same is not told", what_says_the_same_is_not_told, NULL);
	suite_add(&suite, "what is gone is told gone once", what_is_gone_is_told_gone_once, NULL);
	suite_add(&suite, "what came and went is not told", what_came_and_went_is_not_told, NULL);
	suite_add(&suite, "all is what was told", all_is_what_was_told, NULL);
	suite_add(&suite, "much is told in pieces", much_is_told_in_pieces, NULL);
	return suite_run(&suite, "map_board");
}

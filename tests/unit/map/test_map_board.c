#include "unit/suite.h"

#include <stdbool.h>
#include <string.h>

#include "base/str.h"
#include "cli/map/map_board.h"

/* What the cards are made of: one value per id "a" to "z", 0 for none; and how often they were made. */
struct source {
	int values['z' + 1];
	size_t pad; /* blanks in each card */
	unsigned made;
};

static char *make(void *arg, const char *id)
{
	struct source *source = arg;
	int value = source->values[(int)id[0]];

	source->made++;
	return value ? xasprintf("{\"id\":\"%s\",\"value\":%d%*s}", id, value, (int)source->pad, "")
		     : NULL;
}

static void set(struct source *source, struct map_board *board, char id, int value)
{
	char text[2] = { id, '\0' };

	source->values[(int)id] = value;
	map_board_touch(board, text);
}

static void takes(struct map_board *board, const char *want)
{
	auto_str struct str out = STR_INIT;
	bool changed = map_board_take(board, &out);

	assert_int_equal(changed, *want != '\0');
	assert_string_equal(str_cstr(&out), want);
	assert_false(map_board_touched(board));
}

static void changes_are_told_once(void **state)
{
	struct source source = { 0 };
	struct map_board *board = map_board_new(make, &source);

	(void)state;
	takes(board, "");
	set(&source, board, 'a', 1);
	assert_true(map_board_touched(board));
	takes(board,
	      "event: change\ndata: {\"cards\":[{\"id\":\"a\",\"value\":1}],\"gone\":[]}\n\n");
	takes(board, "");
	map_board_free(board);
}

static void many_changes_of_one_are_one(void **state)
{
	struct source source = { 0 };
	struct map_board *board = map_board_new(make, &source);

	(void)state;
	for (int i = 1; i <= 100; i++)
		set(&source, board, 'a', i);
	takes(board,
	      "event: change\ndata: {\"cards\":[{\"id\":\"a\",\"value\":100}],\"gone\":[]}\n\n");
	assert_int_equal(source.made, 1);
	map_board_free(board);
}

static void what_says_the_same_is_not_told(void **state)
{
	struct source source = { 0 };
	struct map_board *board = map_board_new(make, &source);

	(void)state;
	set(&source, board, 'a', 1);
	takes(board,
	      "event: change\ndata: {\"cards\":[{\"id\":\"a\",\"value\":1}],\"gone\":[]}\n\n");
	set(&source, board, 'a', 2);
	set(&source, board, 'a', 1);
	takes(board, "");
	map_board_free(board);
}

static void what_is_gone_is_told_gone_once(void **state)
{
	struct source source = { 0 };
	struct map_board *board = map_board_new(make, &source);

	(void)state;
	set(&source, board, 'a', 1);
	takes(board,
	      "event: change\ndata: {\"cards\":[{\"id\":\"a\",\"value\":1}],\"gone\":[]}\n\n");
	set(&source, board, 'a', 0);
	assert_int_equal(map_board_len(board), 1);
	takes(board, "event: change\ndata: {\"cards\":[],\"gone\":[\"a\"]}\n\n");
	assert_int_equal(map_board_len(board), 0);
	set(&source, board, 'a', 0);
	takes(board, "");
	map_board_free(board);
}

/* Added and removed between two takes: nobody has heard of it. */
static void what_came_and_went_is_not_told(void **state)
{
	struct source source = { 0 };
	struct map_board *board = map_board_new(make, &source);

	(void)state;
	set(&source, board, 'a', 1);
	set(&source, board, 'a', 0);
	takes(board, "");
	map_board_free(board);
}

static void all_is_what_was_told(void **state)
{
	struct source source = { 0 };
	struct map_board *board = map_board_new(make, &source);
	auto_str struct str out = STR_INIT;

	(void)state;
	map_board_all(board, &out);
	assert_int_equal(out.len, 0);
	set(&source, board, 'a', 7);
	takes(board,
	      "event: change\ndata: {\"cards\":[{\"id\":\"a\",\"value\":7}],\"gone\":[]}\n\n");
	set(&source, board, 'a', 8); /* comes with the next change */
	map_board_all(board, &out);
	assert_string_equal(
		str_cstr(&out),
		"event: change\ndata: {\"cards\":[{\"id\":\"a\",\"value\":7}],\"gone\":[]}\n\n");
	map_board_free(board);
}

/* So that a page draws the first while it reads the second. */
static void much_is_told_in_pieces(void **state)
{
	struct source source = { .pad = 20480 };
	struct map_board *board = map_board_new(make, &source);
	auto_str struct str out = STR_INIT;
	size_t cards = 0;
	size_t told = 0;

	(void)state;
	for (const char *id = "abcdefghijklmnopqrstuvwxyz"; *id; id++)
		set(&source, board, *id, 1);
	assert_true(map_board_take(board, &out));
	for (const char *at = str_cstr(&out); (at = strstr(at, "event: change\n")); at++)
		told++;
	for (const char *at = str_cstr(&out); (at = strstr(at, "\"id\":")); at++)
		cards++;
	assert_int_equal(cards, 26);
	assert_in_range(told, 5, 9);
	map_board_free(board);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "changes are told once", changes_are_told_once, NULL);
	suite_add(&suite, "many changes of one are one", many_changes_of_one_are_one, NULL);
	suite_add(&suite, "what says the same is not told", what_says_the_same_is_not_told, NULL);
	suite_add(&suite, "what is gone is told gone once", what_is_gone_is_told_gone_once, NULL);
	suite_add(&suite, "what came and went is not told", what_came_and_went_is_not_told, NULL);
	suite_add(&suite, "all is what was told", all_is_what_was_told, NULL);
	suite_add(&suite, "much is told in pieces", much_is_told_in_pieces, NULL);
	return suite_run(&suite, "map_board");
}

#include "unit/suite.h"

#include <string.h>

#include "base/mem.h"
#include "text/out.h"
#include "text/table.h"

static struct colour_case {
	const char *name;
	struct out_env env;
	bool colour;
} colours[] = {
	{ "on a terminal", { .terminal = true, .term = "xterm" }, true },
	{ "not into a pipe", { .term = "xterm" }, false },
	{ "not with NO_COLOR", { .terminal = true, .term = "xterm", .no_color = "1" }, false },
	{ "not with NO_COLOR, whatever it says",
	  { .terminal = true, .term = "xterm", .no_color = "false" },
	  false },
	{ "with an empty NO_COLOR, which counts as not set",
	  { .terminal = true, .term = "xterm", .no_color = "" },
	  true },
	{ "not on a dumb terminal", { .terminal = true, .term = "dumb" }, false },
	{ "not on one that is not named", { .terminal = true }, false },
};

static void colour_follows_the_rule(void **state)
{
	const struct colour_case *c = *state;

	assert_int_equal(out_colour_rule(&c->env), c->colour);
}

static struct locale_case {
	const char *name;
	struct out_env env;
	bool utf8;
} locales[] = {
	{ "LANG says UTF-8", { .lang = "de_DE.UTF-8" }, true },
	{ "LANG says utf8", { .lang = "C.utf8" }, true },
	{ "LC_CTYPE wins over LANG", { .lc_ctype = "C", .lang = "de_DE.UTF-8" }, false },
	{ "LC_ALL wins over all", { .lc_all = "C.UTF-8", .lc_ctype = "C", .lang = "C" }, true },
	{ "an empty LC_ALL counts as not set", { .lc_all = "", .lang = "C.UTF-8" }, true },
	{ "no locale is none of UTF-8", { .terminal = true }, false },
};

static void locale_tells_utf8(void **state)
{
	const struct locale_case *c = *state;

	assert_int_equal(out_utf8_rule(&c->env), c->utf8);
}

static void text_is_cleaned_and_cut(void **state)
{
	auto_str struct str text = STR_INIT;
	char *many = xcalloc(OUT_TEXT_MAX + 3, 1);

	out_text(&text, "a\tb\033]0;x\a\xff");
	assert_string_equal(str_cstr(&text), "a\\x09b\\x1b]0;x\\x07\\xff");
	str_clear(&text);
	memset(many, 'x', OUT_TEXT_MAX - 1);
	memcpy(many + OUT_TEXT_MAX - 1, "\xc3\xa4z", 4); /* the cut would be inside a character */
	out_text(&text, many);
	assert_int_equal(text.len, OUT_TEXT_MAX - 1 + 3);
	assert_string_equal(text.buf + OUT_TEXT_MAX - 1, "...");
	free(many);
}

/* NOLINTBEGIN(misc-misleading-bidirectional): it is what is tested */
static struct hidden_case {
	const char *name;
	const char *text;
	const char *shown;
} hidden[] = {
	{ "an override of the direction",
	  "a\xe2\x80\xae"
	  "b",
	  "a\\u202eb" },
	{ "the other marks of direction", "\xd8\x9c\xe2\x80\x8f\xe2\x81\xa6\xe2\x81\xa9",
	  "\\u061c\\u200f\\u2066\\u2069" },
	{ "separators of lines and paragraphs", "\xe2\x80\xa8|\xe2\x80\xa9", "\\u2028|\\u2029" },
	{ "no width", "x\xe2\x80\x8b\xef\xbb\xbf\xe2\x81\xa0\xc2\xad",
	  "x\\u200b\\ufeff\\u2060\\u00ad" },
	{ "a tag, beyond 16 bits", "\xf3\xa0\x81\xa1!", "\\U000e0061!" },
	{ "with controls and bytes that are no text", "\033\xe2\x80\xae\xff\xe2\x80",
	  "\\x1b\\u202e\\xff\\xe2\\x80" },
	{ "what is to be seen stays", "\xe2\x80\xa7\xe2\x80\xaf\xd7\x90\xc3\xa4\xf0\x9f\x98\x80",
	  "\xe2\x80\xa7\xe2\x80\xaf\xd7\x90\xc3\xa4\xf0\x9f\x98\x80" },
};
/* NOLINTEND(misc-misleading-bidirectional) */

static void hidden_is_shown(void **state)
{
	const struct hidden_case *c = *state;
	auto_str struct str text = STR_INIT;

	out_text(&text, c->text);
	assert_string_equal(str_cstr(&text), c->shown);
}

static void tables_count_characters(void **state)
{
	static const struct table_column columns[] = { { .title = "NAME" },
						       { .title = "WIDE", .wide = true },
						       { .title = "LAST" } };
	struct out out = { .format = OUT_TABLE };
	struct table table;

	table_init(&table, columns, ARRAY_LEN(columns));
	table_add(&table, "äöü");
	table_add(&table, "w");
	table_add(&table, "1");
	table_add(&table, "longer");
	table_add(&table, NULL);
	table_add(&table, "");
	table_print(&table, &out, true, &out.text);
	assert_string_equal(str_cstr(&out.text), "NAME     LAST\n"
						 "äöü      1\n"
						 "longer\n");
	str_clear(&out.text);
	out.format = OUT_WIDE;
	table_print(&table, &out, false, &out.text);
	assert_string_equal(str_cstr(&out.text), "äöü      w   1\n"
						 "longer\n");
	str_clear(&out.text);
	out.headless = true;
	table_print(&table, &out, true, &out.text);
	assert_string_equal(str_cstr(&out.text), "äöü      w   1\n"
						 "longer\n");
	table_done(&table);
	str_done(&out.text);
}

static const struct table_column fitting[] = { { .title = "NAME" },
					       { .title = "EMPTY", .least = 8 },
					       { .title = "POD", .least = 5 },
					       { .title = "NUMBER" },
					       { .title = "MESSAGE", .least = 6 } };

static struct fit_case {
	const char *name;
	size_t width;
	const char *text;
} fits[] = {
	{ "no terminal: nothing is cut", 0,
	  "NAME   EMPTY   POD          NUMBER   MESSAGE\n"
	  "a              default/ab   1        all of it is said\n" },
	{ "a wide one: nor here", 54,
	  "NAME   EMPTY   POD          NUMBER   MESSAGE\n"
	  "a              default/ab   1        all of it is said\n" },
	{ "first an empty column goes", 53,
	  "NAME   POD          NUMBER   MESSAGE\n"
	  "a      default/ab   1        all of it is said\n" },
	{ "then the last one is cut", 40,
	  "NAME   POD          NUMBER   MESSAGE\n"
	  "a      default/ab   1        all of it …\n" },
	{ "then those before it", 33,
	  "NAME   POD        NUMBER   MESSA…\n"
	  "a      default…   1        all o…\n" },
	{ "and no more than they may", 10,
	  "NAME   POD     NUMBER   MESSA…\n"
	  "a      defa…   1        all o…\n" },
};

static void table_fits_the_terminal(void **state)
{
	const struct fit_case *c = *state;
	struct out out = { .format = OUT_TABLE, .utf8 = true, .width = c->width };
	struct table table;

	table_init(&table, fitting, ARRAY_LEN(fitting));
	table_add(&table, "a");
	table_add(&table, NULL);
	table_add(&table, "default/ab");
	table_add(&table, "1");
	table_add(&table, "all of it is said");
	table_print(&table, &out, true, &out.text);
	assert_string_equal(str_cstr(&out.text), c->text);
	table_done(&table);
	str_done(&out.text);
}

static const struct table_column pinching[] = { { .title = "NAME" },
						{ .title = "GROUP", .spare = 1 },
						{ .title = "DRIVER", .spare = 2 },
						{ .title = "TEXT", .final = 8, .spare = 3 } };

static struct fit_case pinched[] = {
	{ "a spare column is cut before another is left out", 36,
	  "NAME   GROUP   DRIVER     TEXT\n"
	  "node   7       vfio-pci   the end o…\n" },
	{ "to its final width", 34,
	  "NAME   GROUP   DRIVER     TEXT\n"
	  "node   7       vfio-pci   the end…\n" },
	{ "then one is left out, and the others have its room", 33,
	  "NAME   DRIVER     TEXT\n"
	  "node   vfio-pci   the end of all\n" },
	{ "one that fits after another was left out is shown again", 13,
	  "NAME   GROUP\n"
	  "node   7\n" },
};

static void spare_columns_use_the_room(void **state)
{
	const struct fit_case *c = *state;
	struct out out = { .format = OUT_TABLE, .utf8 = true, .width = c->width };
	struct table table;

	table_init(&table, pinching, ARRAY_LEN(pinching));
	table_add(&table, "node");
	table_add(&table, "7");
	table_add(&table, "vfio-pci");
	table_add(&table, "the end of all");
	table_print(&table, &out, true, &out.text);
	assert_string_equal(str_cstr(&out.text), c->text);
	table_done(&table);
	str_done(&out.text);
}

static const struct table_column sparing[] = { { .title = "NAME", .final = 4 },
					       { .title = "SINCE", .spare = 2, .first = true },
					       { .title = "POD", .least = 5 },
					       { .title = "STARTED", .spare = 1, .first = true } };

static struct fit_case spared[] = {
	{ "it fits", 46,
	  "NAME        SINCE   POD                STARTED\n"
	  "node1-abc   5m      default/ab-and-c   4m\n" },
	{ "what goes first goes before a name is cut", 45,
	  "NAME        SINCE   POD\n"
	  "node1-abc   5m      default/ab-and-c\n" },
	{ "and so does the next", 35,
	  "NAME        POD\n"
	  "node1-abc   default/ab-and-c\n" },
	{ "then a name is cut", 22,
	  "NAME        POD\n"
	  "node1-abc   default/a…\n" },
	{ "and in the end the one that is cut last", 14,
	  "NAME     POD\n"
	  "node1…   defa…\n" },
	{ "to its final width", 5,
	  "NAME   POD\n"
	  "nod…   defa…\n" },
};

static void table_spares_columns(void **state)
{
	const struct fit_case *c = *state;
	struct out out = { .format = OUT_TABLE, .utf8 = true, .width = c->width };
	struct table table;

	table_init(&table, sparing, ARRAY_LEN(sparing));
	table_add(&table, "node1-abc");
	table_add(&table, "5m");
	table_add(&table, "default/ab-and-c");
	table_add(&table, "4m");
	table_print(&table, &out, true, &out.text);
	assert_string_equal(str_cstr(&out.text), c->text);
	table_done(&table);
	str_done(&out.text);
}

static void an_empty_column_goes_before_a_filled_one(void **state)
{
	struct out out = { .format = OUT_TABLE, .width = 45 };
	struct table table;

	(void)state;
	table_init(&table, sparing, ARRAY_LEN(sparing));
	table_add(&table, "node1-abc");
	table_add(&table, "");
	table_add(&table, "default/ab-and-c");
	table_add(&table, "4m");
	table_print(&table, &out, true, &out.text);
	assert_string_equal(str_cstr(&out.text), "NAME        POD                STARTED\n"
						 "node1-abc   default/ab-and-c   4m\n");
	table_done(&table);
	str_done(&out.text);
}

static void of_a_class_and_a_name_the_class_is_cut_first(void **state)
{
	static const struct table_column headed[] = {
		{ .title = "WHAT", .least = 8, .headed = true }
	};
	struct out out = { .format = OUT_TABLE, .utf8 = true, .width = 16 };
	struct table table;

	(void)state;
	table_init(&table, headed, ARRAY_LEN(headed));
	table_add(&table, "Controller: 82574L");
	table_add(&table, "Controller: 82574L Gigabit");
	table_add(&table, "Bridge: PCI");
	table_add(&table, "Gigabit without a class");
	table_print(&table, &out, true, &out.text);
	assert_string_equal(str_cstr(&out.text), "WHAT\n82574L\n82574L Gigabit\n"
						 "Bridge: PCI\nGigabit without…\n");
	table_done(&table);
	str_done(&out.text);
}

static const struct table_column yielding[] = { { .title = "NAME" },
						{ .title = "USER", .least = 8, .spare = 1 },
						{ .title = "MESSAGE", .wraps = true } };

static struct fit_case yielded[] = {
	{ "there is room for the message", 68,
	  "NAME     USER               MESSAGE\n"
	  "device   kubernetes-admin   it is claimed by somebody else already:\n"
	  "                            claim another\n" },
	{ "another column is cut for it", 67,
	  "NAME     USER              MESSAGE\n"
	  "device   kubernetes-adm…   it is claimed by somebody else already:\n"
	  "                           claim another\n" },
	{ "then left out", 59,
	  "NAME     MESSAGE\n"
	  "device   it is claimed by somebody else already: claim\n"
	  "         another\n" },
	{ "but not where that does not help", 48,
	  "NAME     USER               MESSAGE\n"
	  "device   kubernetes-admin\n"
	  "    it is claimed by somebody else already:\n"
	  "    claim another\n" },
};

static void columns_yield_to_a_message(void **state)
{
	const struct fit_case *c = *state;
	struct out out = { .format = OUT_TABLE, .utf8 = true, .width = c->width };
	struct table table;

	table_init(&table, yielding, ARRAY_LEN(yielding));
	table_add(&table, "device");
	table_add(&table, "kubernetes-admin");
	table_add(&table, "it is claimed by somebody else already: claim another");
	table_print(&table, &out, true, &out.text);
	assert_string_equal(str_cstr(&out.text), c->text);
	table_done(&table);
	str_done(&out.text);
}

static const struct table_column wrapping[] = { { .title = "NAME" },
						{ .title = "NUMBER" },
						{ .title = "MESSAGE", .wraps = true } };

/* clang-format off */
static struct wrap_case {
	const char *name;
	enum out_format format;
	size_t width;
	const char *text;
} wraps[] = {
	{ "no terminal: one line", OUT_TABLE, 0,
	  "NAME     NUMBER   MESSAGE\n"
	  "device   1        it is claimed by somebody else already: claim another one of the group\n"
	  "next     2        it is free\n" },
	{ "-o wide: one line", OUT_WIDE, 60,
	  "NAME     NUMBER   MESSAGE\n"
	  "device   1        it is claimed by somebody else already: claim another one of the group\n"
	  "next     2        it is free\n" },
	{ "it fits", OUT_TABLE, 88,
	  "NAME     NUMBER   MESSAGE\n"
	  "device   1        it is claimed by somebody else already: claim another one of the group\n"
	  "next     2        it is free\n" },
	{ "in its column", OUT_TABLE, 60,
	  "NAME     NUMBER   MESSAGE\n"
	  "device   1        it is claimed by somebody else already:\n"
	  "                  claim another one of the group\n"
	  "next     2        it is free\n" },
	{ "for too little room, below the other columns", OUT_TABLE, 57,
	  "NAME     NUMBER   MESSAGE\n"
	  "device   1\n"
	  "    it is claimed by somebody else already: claim another\n"
	  "    one of the group\n"
	  "next     2        it is free\n" },
	{ "the title, too, if it does not fit", OUT_TABLE, 24,
	  "NAME     NUMBER\n"
	  "    MESSAGE\n"
	  "device   1\n"
	  "    it is claimed by\n"
	  "    somebody else\n"
	  "    already: claim\n"
	  "    another one of the\n"
	  "    group\n"
	  "next     2\n"
	  "    it is free\n" },
};
/* clang-format on */

static void table_is_wrapped_at_the_terminals_width(void **state)
{
	const struct wrap_case *c = *state;
	struct out out = { .format = c->format, .utf8 = true, .width = c->width };
	struct table table;

	table_init(&table, wrapping, ARRAY_LEN(wrapping));
	table_add(&table, "device");
	table_add(&table, "1");
	table_add(&table, "it is claimed by somebody else already: claim another one of the group");
	table_add(&table, "next");
	table_add(&table, "2");
	table_add(&table, "it is free");
	table_print(&table, &out, true, &out.text);
	assert_string_equal(str_cstr(&out.text), c->text);
	table_done(&table);
	str_done(&out.text);
}

static void words_and_commands_are_not_broken(void **state)
{
	struct out out = { .format = OUT_TABLE, .width = 24 };

	(void)state;
	out_wrap(&out, &out.text, "/a/path/that/is/longer/than/a/line is ööööö ööö", 2, 4);
	str_add_char(&out.text, '\n');
	out_wrap(&out, &out.text, "Claim the group: kubectl hostdev claim vm1-a --include-group", 0,
		 2);
	assert_string_equal(str_cstr(&out.text), "/a/path/that/is/longer/than/a/line\n"
						 "    is ööööö ööö\n"
						 "Claim the group:\n"
						 "  kubectl hostdev claim vm1-a --include-group");
	str_done(&out.text);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, colours, colour_follows_the_rule);
	suite_rows(&suite, locales, locale_tells_utf8);
	suite_rows(&suite, fits, table_fits_the_terminal);
	suite_rows(&suite, spared, table_spares_columns);
	suite_add(&suite, "an empty column goes before a filled one",
		  an_empty_column_goes_before_a_filled_one, NULL);
	suite_add(&suite, "of a class and a name, the class is cut first",
		  of_a_class_and_a_name_the_class_is_cut_first, NULL);
	suite_rows(&suite, yielded, columns_yield_to_a_message);
	suite_rows(&suite, pinched, spare_columns_use_the_room);
	suite_rows(&suite, wraps, table_is_wrapped_at_the_terminals_width);
	suite_add(&suite, "words and commands are not broken", words_and_commands_are_not_broken,
		  NULL);
	suite_rows(&suite, hidden, hidden_is_shown);
	suite_add(&suite, "text is cleaned and cut", text_is_cleaned_and_cut, NULL);
	suite_add(&suite, "tables count characters, not bytes", tables_count_characters, NULL);
	return suite_run(&suite, "out");
}

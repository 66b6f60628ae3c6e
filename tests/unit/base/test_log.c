#include "base/log.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "unit/captured.h"
#include "unit/suite.h"

static struct line_case {
	const char *name;
	enum log_level level;
	const char *msg;
	struct log_field fields[4];
	const char *line;
} lines[] = {
	{ "a message of one word is bare",
	  LOG_INFO,
	  "started",
	  { { 0 } },
	  "level=info msg=started" },
	{ "a message with blanks is quoted",
	  LOG_WARN,
	  "claim is stuck",
	  { { 0 } },
	  "level=warn msg=\"claim is stuck\"" },
	{ "fields follow in order, numbers and text",
	  LOG_ERROR,
	  "x",
	  { { .key = "pid", .number = -7 }, { .key = "claim", .text = "node1-000004000" } },
	  "level=error msg=x pid=-7 claim=node1-000004000" },
	{ "an empty value is quoted",
	  LOG_DEBUG,
	  "x",
	  { { .key = "path", .text = "" } },
	  "level=debug msg=x path=\"\"" },
	{ "a newline does not end the line",
	  LOG_INFO,
	  "x",
	  { { .key = "name", .text = "a\nlevel=error" } },
	  "level=info msg=x name=\"a\\x0alevel=error\"" },
	{ "a quote does not end the value",
	  LOG_INFO,
	  "x",
	  { { .key = "name", .text = "a\" b=\"c" } },
	  "level=info msg=x name=\"a\\\" b=\\\"c\"" },
	{ "a backslash does not hide the closing quote",
	  LOG_INFO,
	  "x",
	  { { .key = "name", .text = "a\\" }, { .key = "other", .text = "b c" } },
	  "level=info msg=x name=\"a\\\\\" other=\"b c\"" },
	{ "an equals sign does not make a key",
	  LOG_INFO,
	  "x",
	  { { .key = "name", .text = "a=b" } },
	  "level=info msg=x name=\"a=b\"" },
	{ "what is not UTF-8 is shown",
	  LOG_INFO,
	  "x",
	  { { .key = "name", .text = "caf\xe9" } },
	  "level=info msg=x name=\"caf\\xe9\"" },
	{ "a real newline and its spelling differ",
	  LOG_INFO,
	  "\\x0a",
	  { { 0 } },
	  "level=info msg=\"\\\\x0a\"" },
};

static void line_matches_table(void **state)
{
	const struct line_case *c = *state;
	auto_str struct str out = STR_INIT;

	log_format(&out, c->level, c->msg, c->fields);
	assert_string_equal(str_cstr(&out), c->line);
}

static struct level_case {
	const char *name;
	const char *text;
	int result;
	enum log_level level;
} levels[] = {
	{ "level: debug", "debug", 0, LOG_DEBUG },
	{ "level: info", "info", 0, LOG_INFO },
	{ "level: warn", "warn", 0, LOG_WARN },
	{ "level: error", "error", 0, LOG_ERROR },
	{ "level: a capital is none", "Info", -EINVAL, LOG_ERROR },
	{ "level: a part of one is none", "inf", -EINVAL, LOG_ERROR },
	{ "level: the empty text is none", "", -EINVAL, LOG_ERROR },
};

static void level_matches_table(void **state)
{
	const struct level_case *c = *state;
	enum log_level level = LOG_ERROR;

	assert_int_equal(log_level_from_text(c->text, &level), c->result);
	assert_int_equal(level, c->level);
}

/* The closing quote of the value that begins at @s, or the blank after a bare one. */
static const char *value_end(const char *s)
{
	if (*s != '"')
		return s + strcspn(s, " ");
	for (s++; *s && *s != '"'; s++) {
		if (*s == '\\' && s[1])
			s++;
	}
	return *s ? s + 1 : NULL;
}

/* What a reader of logfmt takes for keys, joined by commas; false if it is no logfmt. */
static bool read_keys(const char *line, struct str *ret_keys)
{
	while (*line) {
		size_t key_len = strcspn(line, "= \"");

		if (key_len == 0 || line[key_len] != '=')
			return false;
		str_add_mem(ret_keys, line, key_len);
		str_add_char(ret_keys, ',');
		line = value_end(line + key_len + 1);
		if (!line || (*line && *line != ' '))
			return false;
		line += *line == ' ';
	}
	return true;
}

/* Text made of what a forger would use. */
static void random_text(uint64_t *seed, char *text, size_t size)
{
	static const char often[] = "\n\r\"\\= ab\x1b\x7f\xff\xc2\x9b";
	size_t len = suite_random(seed) % size;

	for (size_t i = 0; i < len; i++)
		text[i] = often[suite_random(seed) % (sizeof(often) - 1)];
	text[len] = '\0';
}

/* Whatever the values, a reader sees our keys and no others, on one line. */
static void values_cannot_forge(void **state)
{
	uint64_t seed = 3;

	for (int round = 0; round < 20000; round++) {
		char msg[12];
		char text[12];
		auto_str struct str line = STR_INIT;
		auto_str struct str keys = STR_INIT;

		random_text(&seed, msg, sizeof(msg));
		random_text(&seed, text, sizeof(text));
		log_format(&line, LOG_INFO, msg,
			   (struct log_field[]){ log_str("name", text),
						 log_int("n", 1),
						 log_str("last", text),
						 { 0 } });
		assert_true(utf8_valid(line.buf, line.len));
		assert_null(strpbrk(line.buf, "\n\r\x1b"));
		assert_true(read_keys(line.buf, &keys));
		assert_string_equal(keys.buf, "level,msg,name,n,last,");
	}
}

static void levels_below_are_dropped(void **state)
{
	struct captured captured;
	auto_free char *text = NULL;
	const char *end;

	captured_begin(&captured);
	log_set_level(LOG_WARN);
	log_debug("no");
	log_info("no", log_int("n", 1));
	log_warn("yes", log_int("n", 2), log_str("none", NULL));
	log_set_level(LOG_INFO);
	log_debug("no");
	text = captured_end(&captured);

	assert_memory_equal(text, "time=2", 6);
	end = strstr(text, "Z level=warn msg=yes n=2 none=\"\"\n");
	assert_non_null(end);
	assert_ptr_equal(strchr(text, '\n') + 1, text + strlen(text));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, lines, line_matches_table);
	suite_rows(&suite, levels, level_matches_table);
	suite_add(&suite, "no value can forge a key or a line", values_cannot_forge, NULL);
	suite_add(&suite, "lines below the level are dropped", levels_below_are_dropped, NULL);
	return suite_run(&suite, "log");
}

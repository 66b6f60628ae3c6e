#include <ctype.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/helper/sys/report.h"
#include "agent/names/names.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/utf8.h"

enum {
	FILE_MAX = 16 << 20,
	NAME_MAX_LEN = 1024, /* longer names are cut */
};

/*
 * The file has a list of vendors ("vvvv  Name", below it "\tpppp  Name"), one of classes
 * ("C cc  Name") and others, each with a heading that starts in the first column.
 */
enum section { SECTION_OTHER, SECTION_VENDOR, SECTION_CLASS };

struct parser {
	struct names *names;
	enum section section;
	unsigned upper; /* the vendor or class whose lines follow */
	bool wanted;
};

/* "<digits> Name" at @line: the number and where the name begins. */
static bool parse_entry(const char *line, size_t len, size_t digits, unsigned *ret_number,
			size_t *ret_name)
{
	unsigned number = 0;
	size_t at = digits;

	if (len <= digits || (line[digits] != ' ' && line[digits] != '\t'))
		return false;
	for (size_t i = 0; i < digits; i++) {
		unsigned char c = (unsigned char)line[i];

		if (!isxdigit(c))
			return false;
		number = number << 4 | (unsigned)(isdigit(c) ? c - '0' : tolower(c) - 'a' + 10);
	}
	while (at < len && (line[at] == ' ' || line[at] == '\t'))
		at++;
	*ret_number = number;
	*ret_name = at;
	return at < len;
}

static void set_text(char **text, const char *name, size_t len)
{
	if (!*text)
		*text = xstrndup(name, len < NAME_MAX_LEN ? len : NAME_MAX_LEN);
}

/* A heading: answers for its own name, and opens the lines below it if anyone asked. */
static void take_heading(struct parser *parser, const char *name, size_t len)
{
	enum name_kind kind = parser->section == SECTION_CLASS ? NAME_USB_CLASS : NAME_USB;

	parser->wanted = false;
	for (size_t i = 0; i < parser->names->len; i++) {
		struct name *item = &parser->names->items[i];

		if (item->kind != kind || item->upper != parser->upper)
			continue;
		set_text(&item->outer, name, len);
		parser->wanted = kind == NAME_USB;
	}
}

static void take_product(struct parser *parser, unsigned product, const char *name, size_t len)
{
	for (size_t i = 0; i < parser->names->len; i++) {
		struct name *item = &parser->names->items[i];

		if (item->kind == NAME_USB && item->upper == parser->upper &&
		    item->lower == product)
			set_text(&item->inner, name, len);
	}
}

static void take_line(struct parser *parser, const char *line, size_t len)
{
	unsigned product;
	size_t at;

	if (len == 0 || line[0] == '#')
		return;
	if (line[0] == '\t') {
		if (parser->section == SECTION_VENDOR && parser->wanted &&
		    parse_entry(line + 1, len - 1, 4, &product, &at))
			take_product(parser, product, line + 1 + at, len - 1 - at);
		return;
	}
	parser->section = SECTION_OTHER;
	if (parse_entry(line, len, 4, &parser->upper, &at)) {
		parser->section = SECTION_VENDOR;
		take_heading(parser, line + at, len - at);
	} else if (len > 2 && line[0] == 'C' && line[1] == ' ' &&
		   parse_entry(line + 2, len - 2, 2, &parser->upper, &at)) {
		parser->section = SECTION_CLASS;
		take_heading(parser, line + 2 + at, len - 2 - at);
	}
}

void names_usb_parse(struct names *names, const char *text, size_t len)
{
	struct parser parser = { .names = names };
	const char *end = text + len;

	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t line = (size_t)((stop ? stop : end) - text);

		take_line(&parser, text, line > 0 && text[line - 1] == '\r' ? line - 1 : line);
		text += line + 1;
	}
}

static bool wants_usb(const struct names *names)
{
	for (size_t i = 0; i < names->len; i++) {
		if (names->items[i].kind == NAME_USB || names->items[i].kind == NAME_USB_CLASS)
			return true;
	}
	return false;
}

void names_find_usb(struct names *names, const char *path, struct report *report)
{
	auto_free char *text = NULL;
	struct err err = { 0 };
	size_t len;

	if (!wants_usb(names))
		return;
	if (file_read(AT_FDCWD, path, FILE_MAX, &text, &len, &err) < 0) {
		report_problem(report, "", "usb.ids", "%s", err.msg);
		return;
	}
	if (!utf8_valid(text, len))
		report_problem(report, "", "usb.ids", "%s is not UTF-8 throughout", path);
	names_usb_parse(names, text, len);
}

#include "agent/names/names.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/helper/sys/report.h"
#include "base/array.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/num.h"

/* clang-format off */
static const struct {
	const char *prefix;
	enum name_kind kind;
	size_t outer_digits;
	char separator;
	size_t inner_digits;
} forms[] = {
	{ "pci:",      NAME_PCI,       4, ':',  4 },
	{ "pciclass:", NAME_PCI_CLASS, 2, '\0', 2 },
	{ "usb:",      NAME_USB,       4, ':',  4 },
	{ "usbclass:", NAME_USB_CLASS, 2, '\0', 0 },
};

/* The members of the answer. */
static const struct {
	const char *outer;
	const char *inner;
} members[] = {
	[NAME_PCI]       = { "vendor", "product" },
	[NAME_PCI_CLASS] = { "class", "subclass" },
	[NAME_USB]       = { "vendor", "product" },
	[NAME_USB_CLASS] = { "class", "subclass" },
};
/* clang-format on */

/* Take @digits hexadecimal digits off *@text. */
static bool take_hex(const char **text, size_t digits, unsigned *ret_number)
{
	char part[8] = "";
	uint64_t number;

	if (digits == 0)
		return true;
	if (strnlen(*text, digits) < digits)
		return false;
	memcpy(part, *text, digits);
	if (strspn(part, "0123456789abcdefABCDEF") != digits || !str_to_hex(part, &number))
		return false;
	*text += digits;
	*ret_number = (unsigned)number;
	return true;
}

static bool parse_id(const char *id, struct name *name)
{
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		const char *at = id + strlen(forms[i].prefix);

		if (strncmp(id, forms[i].prefix, strlen(forms[i].prefix)) != 0)
			continue;
		name->kind = forms[i].kind;
		if (!take_hex(&at, forms[i].outer_digits, &name->upper))
			return false;
		if (forms[i].separator && *at++ != forms[i].separator)
			return false;
		return take_hex(&at, forms[i].inner_digits, &name->lower) && *at == '\0';
	}
	return false;
}

int names_add(struct names *names, const char *id, struct err *err)
{
	struct name name = { 0 };

	if (names->len >= NAMES_MAX)
		return err_set(err, ERR_INVALID, -E2BIG, "more than %d identifiers", NAMES_MAX);
	if (!parse_id(id, &name))
		return err_set(err, ERR_INVALID, -EINVAL,
			       "'%.64s' is not an identifier such as pci:8086:10d3, pciclass:0200, "
			       "usb:0627:0001 or usbclass:03",
			       id);
	name.id = xstrdup(id);
	*array_add(names) = name;
	return 0;
}

void names_done(struct names *names)
{
	for (size_t i = 0; i < names->len; i++) {
		free(names->items[i].id);
		free(names->items[i].outer);
		free(names->items[i].inner);
	}
	array_done(names);
}

void names_write(const struct names *names, struct report *report)
{
	for (size_t i = 0; i < names->len; i++) {
		const struct name *name = &names->items[i];

		report_open(&report->lines, "name");
		json_write_str(&report->lines, "id", name->id);
		if (name->outer)
			json_write_str(&report->lines, members[name->kind].outer, name->outer);
		if (name->inner)
			json_write_str(&report->lines, members[name->kind].inner, name->inner);
		report_close(&report->lines);
	}
}

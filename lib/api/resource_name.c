#include "api/resource_name.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "api/names.h"
#include "base/ascii.h"
#include "base/mem.h"
#include "base/str.h"

enum {
	/* "/var/lib/kubelet/device-plugins/kubevirt-<vendor>-<product>.sock" must fit into the
	 * 108 bytes of a socket address; this is what is left for vendor and product. */
	PARTS_MAX = 60,
	/* bytes of the vendor's word, leaving room for ".com" and an id */
	VENDOR_MAX = PARTS_MAX - 4 - 4,
};

static bool is_blank(char c)
{
	return c != '\0' && strchr("\t\n\f\r ", c);
}

/* Append the letters and digits of @text up to the first character of @end, in lower case. */
static void add_word(struct str *out, const char *text, const char *end)
{
	size_t len = strcspn(text, end);

	for (size_t i = 0; i < len && out->len < VENDOR_MAX; i++) {
		if (ascii_is_alnum(text[i]))
			str_add_char(out, ascii_to_lower(text[i]));
	}
}

/* The text after the first '[' that is closed and not empty; NULL if there is none. */
static const char *first_bracket(const char *name)
{
	const char *open = strchr(name, '[');

	while (open && open[1] == ']')
		open = strchr(open + 1, '[');
	return open && strchr(open, ']') ? open + 1 : NULL;
}

static void add_vendor(struct str *out, const char *name)
{
	const char *bracket = first_bracket(name);

	if (bracket)
		add_word(out, bracket, "]/");
	if (out->len == 0)
		add_word(out, name + strspn(name, " "), " ");
	if (out->len == 0)
		str_add(out, "unknown");
	str_add(out, ".com");
}

static void strip_ends(struct str *text)
{
	static const char marks[] = "_.-";
	size_t start = strspn(str_cstr(text), marks);

	while (text->len > start && strchr(marks, text->buf[text->len - 1]))
		text->len--;
	/* Harvester strips only the end, but a valid name must not begin with punctuation
	 * either. */
	memmove(text->buf, text->buf + start, text->len - start);
	text->len -= start;
	text->buf[text->len] = '\0';
}

/* True at the last blank of a run. */
static bool ends_blanks(const char *s)
{
	return is_blank(s[0]) && !is_blank(s[1]);
}

static void add_product(struct str *out, const char *name)
{
	for (const char *s = name; *s; s++) {
		if (ascii_is_alnum(*s) || *s == '_')
			str_add_char(out, ascii_to_upper(*s));
		else if (*s == '/' || *s == '.' || ends_blanks(s))
			str_add_char(out, '_');
	}
	strip_ends(out);
}

/* Replace every VIRTUAL_FUNCTION with VF. */
static void shorten(struct str *product)
{
	static const char longer[] = "VIRTUAL_FUNCTION";
	auto_str struct str shorter = STR_INIT;
	const char *from = str_cstr(product);
	const char *hit;

	while ((hit = strstr(from, longer))) {
		str_add_mem(&shorter, from, (size_t)(hit - from));
		str_add(&shorter, "VF");
		from = hit + strlen(longer);
	}
	str_add(&shorter, from);
	str_clear(product);
	str_add(product, str_cstr(&shorter));
}

char *resource_name_pci(const char *vendor, const char *product, uint16_t device_id)
{
	auto_str struct str first = STR_INIT;
	auto_str struct str second = STR_INIT;

	add_vendor(&first, vendor ? vendor : "");
	add_product(&second, product ? product : "");
	if (first.len + second.len > PARTS_MAX)
		shorten(&second);
	if (second.len == 0 || first.len + second.len > PARTS_MAX)
		return xasprintf("%s/%04x", str_cstr(&first), (unsigned)device_id);
	return xasprintf("%s/%s", str_cstr(&first), str_cstr(&second));
}

char *resource_name_usb(const char *usbdevice_name)
{
	auto_free char *part = names_label_value(usbdevice_name);

	return xasprintf("kubevirt.io/%s", part);
}

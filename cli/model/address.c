#include "cli/model/address.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* Compare numbers in the texts as numbers, decimal or hexadecimal: without leading zeros, the
 * longer one is greater. */
int address_compare(const char *a, const char *b)
{
	while (*a && *b) {
		size_t digits_a = strspn(a, "0123456789abcdef");
		size_t digits_b = strspn(b, "0123456789abcdef");
		int r;

		if (digits_a == 0 || digits_b == 0) {
			if (*a != *b)
				return (unsigned char)*a - (unsigned char)*b;
			a++;
			b++;
			continue;
		}
		if (digits_a != digits_b)
			return digits_a < digits_b ? -1 : 1;
		r = strncmp(a, b, digits_a);
		if (r != 0)
			return r;
		a += digits_a;
		b += digits_b;
	}
	return (unsigned char)*a - (unsigned char)*b;
}

static size_t hex_digits(const char *text)
{
	size_t len = 0;

	while (isxdigit((unsigned char)text[len]))
		len++;
	return len;
}

/* Is the text exactly "BB:DD.F"? */
static bool is_short(const char *text)
{
	return hex_digits(text) == 2 && text[2] == ':' && hex_digits(text + 3) == 2 &&
	       text[5] == '.' && text[6] >= '0' && text[6] <= '7' && !text[7];
}

bool address_is_pci(const char *text)
{
	size_t domain = hex_digits(text);

	return is_short(text) ||
	       (domain >= 4 && domain <= 8 && text[domain] == ':' && is_short(text + domain + 1));
}

bool address_means(const char *text, const char *address)
{
	if (!*text || !*address)
		return false;
	if (strcasecmp(text, address) == 0)
		return true;
	return is_short(text) && strncmp(address, "0000:", 5) == 0 &&
	       strcasecmp(text, address + 5) == 0;
}

size_t address_bus_len(const char *address)
{
	return address_is_pci(address) && !is_short(address) ? strlen(address) - strlen(":00.0")
							     : 0;
}

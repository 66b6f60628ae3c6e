#include "kube/listen.h"

#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "unit/suite.h"

static struct address_case {
	const char *name;
	const char *text;
	const char *host; /* NULL: refused */
	unsigned port;
} addresses[] = {
	{ "address and port", "127.0.0.1:8080", "127.0.0.1", 8080 },
	{ "all addresses", ":8080", "", 8080 },
	{ "IPv6 in brackets", "[::1]:8080", "::1", 8080 },
	{ "off", "off", "", 0 },
	{ "any port", "127.0.0.1:0", "127.0.0.1", 0 },
	{ "a port is needed", "127.0.0.1", NULL, 0 },
	{ "a port is a number", "127.0.0.1:http", NULL, 0 },
	{ "a port has an upper end", ":65536", NULL, 0 },
	{ "IPv6 needs brackets", "::1:8080", NULL, 0 },
	{ "nothing is not an address", "", NULL, 0 },
};

static void address_has_parts(void **state)
{
	const struct address_case *c = *state;
	struct listen_address address = { 0 };
	struct err err = { 0 };

	assert_int_equal(listen_address_parse(c->text, &address, &err) == 0, c->host != NULL);
	if (!c->host) {
		assert_non_null(strstr(err.msg, c->text));
		return;
	}
	assert_string_equal(address.host, c->host);
	assert_int_equal(address.port, c->port);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, addresses, address_has_parts);
	return suite_run(&suite, "listen");
}

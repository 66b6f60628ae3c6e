/* fuzz_routes: any bytes as the tables of IPv4 and of IPv6 routes. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "agent/helper/scan/routes.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free char *text = xmalloc(size);
	struct routes routes = { 0 };
	const struct route *found;
	auto_free char *table = NULL;

	if (size > 0)
		memcpy(text, data, size);
	table = routes_other_default(text, size);
	assert(!table || *table);
	routes_parse_v4(text, size, &routes);
	routes_parse_v6(text, size, &routes);
	for (size_t i = 0; i < routes.len; i++) {
		const struct route *route = &routes.items[i];

		assert(route->prefix <= (route->family == AF_INET ? 32 : 128));
		assert(memchr(route->interface, '\0', sizeof(route->interface)));
		(void)routes_interface_has_address(&routes, route->interface);
	}
	found = routes_find(&routes, "192.0.2.1");
	assert(!found || found->family == AF_INET);
	found = routes_find(&routes, "2001:db8::1");
	assert(!found || found->family == AF_INET6);
	routes_done(&routes);
	return 0;
}

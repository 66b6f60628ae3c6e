#include <stdlib.h>
#include <string.h>

#include "agent/helper/scan/netlinks.h"
#include "agent/helper/scan/use_scan.h"
#include "agent/helper/sys/report.h"
#include "base/mem.h"

/* Add @reason to all hardware under the interface @name: "eth0[ under bond0] <tail>". */
static void add_under(struct use_look *look, const char *name, enum use_reason reason,
		      const char *tail)
{
	for (size_t i = 0; i < netlinks_len(look->links); i++) {
		const char *link = netlinks_name(look->links, i);
		char *detail;

		if (!netlinks_carries(look->links, i, name))
			continue;
		if (strcmp(link, name) == 0)
			detail = xasprintf("%s %s", link, tail);
		else
			detail = xasprintf("%s under %s %s", link, name, tail);
		uses_add(&look->uses, netlinks_device(look->links, i), reason, link, detail);
	}
}

void use_network_add_server(struct use_look *look, const char *address, enum use_reason reason,
			    const char *what)
{
	const struct route *route = routes_find(&look->routes, address);
	auto_free char *tail = NULL;

	if (!route) {
		report_problem(look->report, "", "net/route",
			       "no route tells which interface %s needs (server '%.64s')", what,
			       address);
		return;
	}
	tail = xasprintf("leads to %s, from where %s", address, what);
	add_under(look, route->interface, reason, tail);
}

static void add_node_address(struct use_look *look)
{
	const struct route *route = routes_find(&look->routes, look->node_address);
	auto_free char *tail = NULL;

	if (!route) {
		report_problem(look->report, "", "net/route",
			       "no interface has the node's address '%.64s'", look->node_address);
		return;
	}
	tail = xasprintf("has the node's address %s", look->node_address);
	add_under(look, route->interface, USE_HOST_NETWORK, tail);
}

/* Interfaces with an address that go through hardware, and parts of bonds and bridges without. */
static void add_interfaces_up(struct use_look *look, size_t link)
{
	const char *name = netlinks_name(look->links, link);
	const struct devpath *device = netlinks_device(look->links, link);

	if (!netlinks_is_up(look->links, link) ||
	    uses_has(&look->uses, device, USE_HOST_NETWORK, name))
		return;
	if (routes_interface_has_address(&look->routes, name)) {
		uses_add(&look->uses, device, USE_INTERFACE_UP, name,
			 xasprintf("%s is up and has an address", name));
		return;
	}
	if (netlinks_upper(look->links, link))
		uses_add(&look->uses, device, USE_INTERFACE_UP, name,
			 xasprintf("%s is up under %s", name, netlinks_upper(look->links, link)));
}

void use_network_collect(struct use_look *look)
{
	for (size_t i = 0; i < look->routes.len; i++) {
		const struct route *route = &look->routes.items[i];

		if (route->prefix == 0)
			add_under(look, route->interface, USE_HOST_NETWORK,
				  "has the default route");
	}
	if (look->node_address && look->routes.len > 0)
		add_node_address(look);
	for (size_t i = 0; i < netlinks_len(look->links); i++)
		add_interfaces_up(look, i);
}

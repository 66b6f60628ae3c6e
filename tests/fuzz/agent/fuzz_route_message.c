/* fuzz_route_message: any bytes as one datagram of a route netlink socket; nothing outside it is
 * read, and the same messages a second time are the same news. */
#include <assert.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/monitor/route_message.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free char *twice = xmalloc(2 * size + 1);
	enum route_news news = route_message_read(data, size);

	assert(size > 0 ? news <= ROUTE_NEWS_LINK : news == ROUTE_NEWS_NOTHING);
	if (size % NLMSG_ALIGNTO != 0)
		return 0;
	if (size > 0) {
		memcpy(twice, data, size);
		memcpy(twice + size, data, size);
	}
	/* A message that is cut may be whole with what comes behind it, and weigh less. */
	assert(news == ROUTE_NEWS_LINK || route_message_read(twice, 2 * size) == news);
	return 0;
}

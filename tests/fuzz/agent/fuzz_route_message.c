/* fuzz_route_message: any bytes as one datagram of a route netlink socket; nothing outside it is
 * read, and what is added behind it makes it no less weighty. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/monitor/route_message.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free char *message = xmalloc(size + 1);
	enum route_news news;

	if (size > 0)
		memcpy(message, data, size);
	news = route_message_read(message, size);
	assert(news <= ROUTE_NEWS_LINK);
	message[size] = '\0';
	assert(route_message_read(message, size + 1) >= news);
	return 0;
}

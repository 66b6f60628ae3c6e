/* fuzz_uevent: any bytes as one netlink message; the values must lie in it and be classified. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/monitor/uevent.h"
#include "base/err.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free char *message = xmalloc(size);
	struct uevent event;
	struct err err = { 0 };

	if (size > 0)
		memcpy(message, data, size);
	if (uevent_parse(message, size, &event, &err) < 0) {
		assert(err.kind == ERR_INVALID && err.msg[0]);
		return 0;
	}
	assert(event.action[0] && event.devpath[0] == '/');
	assert(strlen(event.action) + strlen(event.devpath) + strlen(event.subsystem) < size);
	assert(uevent_classify(&event) <= UEVENT_DEVICE);
	return 0;
}

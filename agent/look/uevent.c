#include "agent/look/uevent.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

static const struct {
	const char *subsystem;
	enum uevent_hint hint;
} hints[] = {
	{ "pci", UEVENT_DEVICE },      { "usb", UEVENT_DEVICE },  { "iommu", UEVENT_DEVICE },
	{ "vfio-dev", UEVENT_DEVICE }, { "mdev", UEVENT_DEVICE }, { "net", UEVENT_LAZY },
	{ "block", UEVENT_LAZY },
};

static void take_value(struct uevent *event, const char *pair)
{
	static const char subsystem[] = "SUBSYSTEM=";
	static const char mdev_state[] = "MDEV_STATE=";

	if (strncmp(pair, subsystem, sizeof(subsystem) - 1) == 0)
		event->subsystem = pair + sizeof(subsystem) - 1;
	else if (strncmp(pair, mdev_state, sizeof(mdev_state) - 1) == 0)
		event->mdev_state = pair + sizeof(mdev_state) - 1;
}

int uevent_parse(char *data, size_t len, struct uevent *ret_event, struct err *err)
{
	struct uevent event = { .action = "", .subsystem = "", .devpath = "", .mdev_state = "" };
	char *end = data + len;
	char *at;

	if (len == 0)
		return err_set(err, ERR_INVALID, -EINVAL, "empty uevent");
	end[-1] = '\0';

	at = strchr(data, '@');
	if (!at || at == data || at[1] != '/')
		return err_set(err, ERR_INVALID, -EINVAL, "uevent does not begin with action@path");
	*at = '\0';
	event.action = data;
	event.devpath = at + 1;

	for (char *pair = at + strlen(at + 1) + 2; pair < end; pair += strlen(pair) + 1)
		take_value(&event, pair);
	*ret_event = event;
	return 0;
}

enum uevent_hint uevent_classify(const struct uevent *event)
{
	for (size_t i = 0; i < ARRAY_LEN(hints); i++) {
		if (strcmp(hints[i].subsystem, event->subsystem) == 0)
			return hints[i].hint;
	}
	return event->mdev_state[0] ? UEVENT_DEVICE : UEVENT_IGNORE;
}

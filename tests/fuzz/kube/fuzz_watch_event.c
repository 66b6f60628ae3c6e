/*
 * fuzz_watch_event: any bytes as a line of a watch, and as a page of a list, on their way into a
 * store; what is read straight from the text must be what the tree decoder makes of it.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "api/json_map.h"
#include "api/json_map_read.h"
#include "api/pcidevice.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "kube/listwatch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_change(void *arg, const struct entry *before, const struct entry *after)
{
	(void)arg;
	assert(before || after);
	assert((before ? before : after)->name[0]);
}

static void on_unreadable(void *arg, const struct err *err)
{
	(void)arg;
	assert(err->kind == ERR_INVALID && err->msg[0]);
}

static void compare(const char *text, size_t len)
{
	struct pcidevice fast;
	struct pcidevice slow;
	struct err err = { 0 };

	if (json_map_parse(pcidevice_kind.map, text, len, &slow, &err) < 0)
		return;
	assert(json_map_read(pcidevice_kind.map, text, len, &fast, &err) == 0);
	assert(json_map_equal(pcidevice_kind.map, &fast, &slow));
	json_map_done(pcidevice_kind.map, &fast);
	json_map_done(pcidevice_kind.map, &slow);
}

static void on_item(void *arg, const struct json_text *object)
{
	(void)arg;
	compare(object->text, object->len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free char *text = xmalloc(size + 1);
	struct reflector reflector;
	struct store *store = store_new(&pcidevice_kind);
	struct listwatch listwatch = {
		.kind = &pcidevice_kind,
		.store = store,
		.reflector = &reflector,
		.on_change = on_change,
		.on_unreadable = on_unreadable,
	};
	struct list_page page = { 0 };
	struct watch_event event;
	struct err err = { 0 };

	log_set_level(LOG_ERROR);
	reflector_init(&reflector);
	for (size_t i = 0; i < size; i++)
		text[i] = (char)data[i];

	if (listwatch_apply_line(&listwatch, text, size, &err) < 0)
		assert(err.msg[0] && listwatch.verdict != REFLECTOR_STARTED);
	if (watch_event_parse(text, size, &event, &err) == 0)
		compare(event.object.text, event.object.len);
	list_page_read(text, size, on_item, NULL, &page, &err);

	list_page_done(&page);
	store_free(store);
	reflector_done(&reflector);
	return 0;
}

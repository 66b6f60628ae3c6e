/* usb_bundles: what selectors make of the devices of a node. */
#include "agent/usb/usb_bundles.h"

#include "agent/config/config.h"
#include "base/array.h"
#include "unit/usb/sticks.h"

enum { ENTRIES = 3, SELECTORS = 3 };

#define STICKS                                     \
	{                                          \
		.vendor = 0x951, .product = 0x1666 \
	}
#define KEYS                                       \
	{                                          \
		.vendor = 0x46d, .product = 0xc31c \
	}

static char serial_a[] = "A";
static char serial_b[] = "B";
static char port_3[] = "1-3";

/* A device: "1-2 0951:1666 SERIAL", with a '!' before it if it is not usable, or "hub". */
static struct bundles_case {
	const char *name;
	const char *devices[6];
	struct {
		const char *resource;
		struct config_usb_selector selectors[SELECTORS];
	} entries[ENTRIES];
	const char *
		before; /* "RESOURCE=ID ...", of a stick with serial number A, then of a keyboard */
	const char *bundles; /* likewise, with '!' after an ID with an empty socket */
	const char *unmet;   /* "RESOURCE REASON: why|" of each entry without bundle; NULL: none */
} cases[] = {
	/* clang-format off */
	{ "each device that matches is a bundle", { "1-2 0951:1666", "1-3 0951:1666", "1-4 046d:c31c" },
	  { { "a/stick", { STICKS } } }, "", "a/stick=1-2 a/stick=1-3", NULL },
	{ "whatever the order of the scan is", { "1-3 0951:1666", "1-2 0951:1666" },
	  { { "a/stick", { STICKS } } }, "", "a/stick=1-2 a/stick=1-3", NULL },
	{ "none matches: no bundle, which is reported", { "1-2 046d:c31c" }, { { "a/stick", { STICKS } } }, "", "",
	  "a/stick NoDevice: there is no device 0951:1666: plug one in|" },
	{ "a serial number and a socket that no device has are reported", { "1-2 0951:1666 A" },
	  { { "a/stick", { { 0x951, 0x1666, serial_b, port_3 } } } }, "", "",
	  "a/stick NoDevice: there is no device 0951:1666, serial number 'B', port 1-3: plug one in|" },
	{ "a bundle that lacks one is reported, and which", { "1-2 046d:c31c" }, { { "a/desk", { KEYS, STICKS } } }, "", "",
	  "a/desk NoDevice: there is no device 0951:1666: plug one in|" },
	{ "a bundle of two that are alike is reported with one of them", { "1-1 0951:1666" },
	  { { "a/pair", { STICKS, STICKS } } }, "", "",
	  "a/pair NoDevice: there is no further device 0951:1666: plug one in|" },
	{ "a bundle of which another entry has a device is reported", { "1-1 0951:1666", "1-2 046d:c31c" },
	  { { "a/stick", { STICKS } }, { "a/desk", { KEYS, STICKS } } }, "", "a/stick=1-1",
	  "a/desk DevicesTaken: the device in port 1-1 (0951:1666) is already offered as 'a/stick': change one of the two claims or entries|" },
	{ "what only the node needs is reported", { "! 1-2 0951:1666" }, { { "a/stick", { STICKS } } }, "", "",
	  "a/stick DevicesRefused: the device in port 1-2 (0951:1666) cannot be offered: see the condition Claimable of its USBDevice|" },
	{ "a hub is not answered with a request for another", { "hub 1-1 0951:1666", "1-2 046d:c31c" },
	  { { "a/stick", { STICKS } }, { "a/desk", { KEYS, STICKS } } }, "", "",
	  "a/stick DevicesRefused: the device in port 1-1 (0951:1666) is a hub, which cannot be offered: name the devices behind "
	  "it|a/desk DevicesRefused: the device in port 1-1 (0951:1666) is a hub, which cannot be offered: name the devices behind it|" },
	{ "a hub in another socket than is asked for is none of it", { "hub 1-1 0951:1666" },
	  { { "a/stick", { { 0x951, 0x1666, NULL, port_3 } } } }, "", "",
	  "a/stick NoDevice: there is no device 0951:1666, port 1-3: plug one in|" },
	{ "a serial number picks one of two that are alike", { "1-2 0951:1666 A", "1-3 0951:1666 B" },
	  { { "a/stick", { { 0x951, 0x1666, serial_b, NULL } } } }, "", "a/stick=1-3", NULL },
	{ "so does a socket", { "1-2 0951:1666", "1-3 0951:1666" },
	  { { "a/stick", { { 0x951, 0x1666, NULL, port_3 } } } }, "", "a/stick=1-3", NULL },
	{ "a device is taken once: the first entry has it", { "1-2 0951:1666" },
	  { { "a/one", { STICKS } }, { "a/two", { STICKS } } }, "", "a/one=1-2",
	  "a/two DevicesTaken: the device in port 1-2 (0951:1666) is already offered as 'a/one': change one of the two claims or entries|" },
	{ "a bundle has one device for each selector", { "1-2 046d:c31c", "1-3 0951:1666" },
	  { { "a/desk", { STICKS, KEYS } } }, "", "a/desk=1-3,1-2", NULL },
	{ "bundles are made until a selector finds none", { "1-1 0951:1666", "1-2 0951:1666", "1-3 046d:c31c" },
	  { { "a/desk", { STICKS, KEYS } } }, "", "a/desk=1-1,1-3", NULL },
	{ "what is left of a bundle is the next entry's", { "1-1 0951:1666", "1-2 0951:1666", "1-3 046d:c31c" },
	  { { "a/desk", { STICKS, KEYS } }, { "a/stick", { STICKS } } }, "", "a/desk=1-1,1-3 a/stick=1-2", NULL },
	{ "a bundle of two that are alike needs two", { "1-1 0951:1666", "1-2 0951:1666", "1-3 0951:1666" },
	  { { "a/pair", { STICKS, STICKS } } }, "", "a/pair=1-1,1-2", NULL },
	{ "what the node needs is not taken", { "! 1-2 0951:1666", "1-3 0951:1666" },
	  { { "a/stick", { STICKS } } }, "", "a/stick=1-3", NULL },
	{ "what another plugin serves is nobody's here", { "1-2 0951:1666", "1-4 046d:c31c" },
	  { { "a/stick", { STICKS } }, { "their.io/stick", { STICKS } }, { "a/keys", { KEYS } } }, "", "a/keys=1-4",
	  "a/stick DevicesTaken: the device in port 1-2 (0951:1666) is already offered as 'their.io/stick': change one of the two "
	  "claims or entries|" },
	{ "a bundle that there was stays while its port is empty", { "1-3 0951:1666" },
	  { { "a/stick", { STICKS } } }, "a/stick=1-2 a/stick=1-3", "a/stick=1-2! a/stick=1-3", NULL },
	{ "also if the selector says more than before", { "1-3 046d:c31c" },
	  { { "a/stick", { { 0x951, 0x1666, serial_a, NULL } } } }, "a/stick=1-2", "a/stick=1-2!", NULL },
	{ "but not if it is for another serial number now", { "1-3 046d:c31c" },
	  { { "a/stick", { { 0x951, 0x1666, serial_b, NULL } } } }, "a/stick=1-2", "",
	  "a/stick NoDevice: there is no device 0951:1666, serial number 'B': plug one in|" },
	{ "nor for another socket", { "1-2 046d:c31c" },
	  { { "a/stick", { { 0x951, 0x1666, NULL, port_3 } } } }, "a/stick=1-4", "",
	  "a/stick NoDevice: there is no device 0951:1666, port 1-3: plug one in|" },
	{ "nor for other ids", { "1-3 0951:1666" },
	  { { "a/stick", { KEYS } } }, "a/stick=1-2", "",
	  "a/stick NoDevice: there is no device 046d:c31c: plug one in|" },
	{ "nor a bundle whose empty socket is another's now", { "1-1 0951:1666" },
	  { { "a/desk", { STICKS, STICKS } } }, "a/desk=1-1,1-3", "",
	  "a/desk NoDevice: there is no further device 0951:1666: plug one in|" },
	{ "but not once another device is in it", { "1-2 046d:c31c" },
	  { { "a/stick", { STICKS } } }, "a/stick=1-2", "",
	  "a/stick NoDevice: there is no device 0951:1666: plug one in|" },
	{ "a bundle that lost a device is not put together again", { "1-1 0951:1666", "1-2 0951:1666", "1-4 046d:c31c" },
	  { { "a/desk", { STICKS, KEYS } } }, "a/desk=1-1,1-3 a/desk=1-2,1-4", "a/desk=1-1,1-3! a/desk=1-2,1-4", NULL },
	{ "a device in an earlier socket makes no other bundles", { "1-1 0951:1666", "1-2 0951:1666", "1-3 046d:c31c" },
	  { { "a/desk", { STICKS, KEYS } } }, "a/desk=1-2,1-3", "a/desk=1-2,1-3", NULL },
	{ "one that is in use by the node now stays in its bundle", { "! 1-2 0951:1666" },
	  { { "a/stick", { STICKS } } }, "a/stick=1-2", "a/stick=1-2", NULL },
	{ "an entry that is gone takes its bundles along", { "1-2 0951:1666" }, .before = "a/stick=1-2", .bundles = "" },
	{ "a bundle of other selectors than before is created again", { "1-2 0951:1666", "1-3 046d:c31c" },
	  { { "a/desk", { STICKS, KEYS } } }, "a/desk=1-2", "a/desk=1-2,1-3", NULL },
	/* clang-format on */
};

static void plug(struct sticks *node, const char *text, struct json_strs *unusable)
{
	bool usable = text[0] != '!';
	bool hub = strncmp(text, "hub ", 4) == 0;
	auto_free char *copy = xstrdup(text + (hub ? 4 : usable ? 0 : 2));
	char *rest = copy;
	const char *port = strsep(&rest, " ");
	const char *ids = strsep(&rest, " ");

	if (hub) {
		auto_free char *line =
			xasprintf("{'kind':'usb','name':'%s','bus':1,'device':1,'hub':true,"
				  "'vendor':'%.4s','product':'%s'}",
				  port, ids, ids + 5);

		sticks_line(node, line);
		return;
	}
	if (!usable)
		json_strs_add(unusable, port);
	sticks_plug_as(node, ids, port, (unsigned)(port[2] - '0'), rest ? rest : "");
}

static void candidates_of(const struct sticks *node, const struct json_strs *unusable,
			  struct usb_candidates *candidates)
{
	const struct inventory_set *set = &node->world.inventory->sets[INVENTORY_USB];

	for (size_t i = 0; i < set->len; i++) {
		const struct usbdevice *device = set->objects[i];

		*array_add(candidates) = (struct usb_candidate){
			.device = device,
			.usable = !json_strs_has(unusable, device->status.port_path),
		};
	}
}

static void config_of(const struct bundles_case *row, struct config *config)
{
	for (size_t i = 0; i < ENTRIES && row->entries[i].resource; i++) {
		struct config_usb *entry = array_add(&config->usb);

		entry->resource = xstrdup(row->entries[i].resource);
		entry->external = strncmp(entry->resource, "their.io/", 9) == 0;
		for (size_t k = 0; k < SELECTORS && row->entries[i].selectors[k].vendor; k++)
			*array_add(&entry->selectors) = row->entries[i].selectors[k];
	}
}

static void config_clear(struct config *config)
{
	for (size_t i = 0; i < config->usb.len; i++) {
		free(config->usb.items[i].resource);
		array_done(&config->usb.items[i].selectors);
	}
	array_done(&config->usb);
}

static void add_member(struct usb_bundle *bundle)
{
	static const struct usb_member known[] = { { 0x951, 0x1666, NULL },
						   { 0x46d, 0xc31c, NULL } };
	size_t at = bundle->len++;

	assert_true(at < ARRAY_LEN(known));
	bundle->members = xreallocarray(bundle->members, bundle->len, sizeof(*bundle->members));
	bundle->members[at] = known[at];
	bundle->members[at].serial = at == 0 ? xstrdup(serial_a) : NULL;
}

static void bundles_of(const char *before, struct usb_bundles *bundles)
{
	auto_free char *copy = xstrdup(before);
	char *rest = copy;
	char *word;

	while ((word = strsep(&rest, " "))) {
		char *id = strchr(word, '=');
		struct usb_bundle *bundle;

		if (!id)
			continue;
		*id++ = '\0';
		bundle = array_add(bundles);
		*bundle = (struct usb_bundle){ .resource = xstrdup(word), .id = xstrdup(id) };
		add_member(bundle);
		for (const char *comma = id; (comma = strchr(comma, ',')); comma++)
			add_member(bundle);
	}
}

static void assert_bundles(const struct usb_bundles *bundles, const char *wanted)
{
	auto_str struct str said = STR_INIT;

	for (size_t i = 0; i < bundles->len; i++) {
		const struct usb_bundle *bundle = &bundles->items[i];
		bool whole = true;

		for (size_t k = 0; k < bundle->len; k++)
			whole = whole && bundle->devices[k];
		str_addf(&said, "%s%s=%s%s", i ? " " : "", bundle->resource, bundle->id,
			 whole ? "" : "!");
	}
	assert_string_equal(str_cstr(&said), wanted);
}

static void assert_unmet(const struct config *config, const struct usb_candidates *candidates,
			 const struct usb_bundles *bundles, const char *wanted)
{
	auto_str struct str said = STR_INIT;

	for (size_t i = 0; i < config->usb.len; i++) {
		const struct config_usb *entry = &config->usb.items[i];
		const char *reason = NULL;
		auto_free char *text = usb_bundles_unmet(entry, candidates, bundles, &reason);

		if (text)
			str_addf(&said, "%s %s: %s|", entry->resource, reason, text);
	}
	assert_string_equal(str_cstr(&said), wanted ? wanted : "");
}

static void are_bundles(void **state)
{
	const struct bundles_case *row = suite_row(state);
	struct usb_candidates candidates = { 0 };
	struct json_strs unusable = { 0 };
	struct usb_bundles bundles = { 0 };
	struct config config = { 0 };
	struct sticks *node = *state;

	for (size_t i = 0; i < ARRAY_LEN(row->devices) && row->devices[i]; i++)
		plug(node, row->devices[i], &unusable);
	world_look(&node->world, &(struct inventory_options){ .node_name = "node1" });
	config_of(row, &config);
	bundles_of(row->before, &bundles);
	for (int i = 0; i < 2; i++) { /* the second look finds the same */
		candidates_of(node, &unusable, &candidates);
		candidates.facts = node->world.facts;
		usb_bundles_make(&config, &candidates, &bundles);
		assert_bundles(&bundles, row->bundles);
		assert_unmet(&config, &candidates, &bundles, row->unmet);
		array_done(&candidates);
	}
	usb_bundles_done(&bundles);
	config_clear(&config);
	json_strs_done(&unusable);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &sticks_fixture);
	suite_rows(&suite, cases, are_bundles);
	return suite_run(&suite, "usb_bundles");
}

#include "agent/usb/usb_bundles.h"

#include <stdlib.h>
#include <string.h>

#include "agent/config/config.h"
#include "agent/inventory/facts.h"
#include "api/usbdevice.h"
#include "base/array.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"

/* What goes into one making. */
struct making {
	struct usb_candidates *candidates;
	struct usb_bundles *before;
	struct usb_bundles *now;
};

static void bundle_done(struct usb_bundle *bundle)
{
	for (size_t i = 0; bundle->members && i < bundle->len; i++)
		free(bundle->members[i].serial);
	free(bundle->members);
	free(bundle->resource);
	free(bundle->id);
	free((void *)bundle->devices);
}

void usb_bundles_done(struct usb_bundles *bundles)
{
	for (size_t i = 0; i < bundles->len; i++)
		bundle_done(&bundles->items[i]);
	array_done(bundles);
}

static bool is_id(const char *text, uint16_t id)
{
	uint64_t value;

	return str_to_hex(text, &value) && value == id;
}

static bool matches(const struct config_usb_selector *selector, const struct usbdevice *device)
{
	const struct usbdevice_status *is = &device->status;

	return is_id(is->vendor_id, selector->vendor) && is_id(is->product_id, selector->product) &&
	       (!selector->serial || str_match(selector->serial, is->serial_number)) &&
	       (!selector->port_path || str_match(selector->port_path, is->port_path));
}

static bool matches_facts(const struct config_usb_selector *selector, const struct usb_facts *usb)
{
	return usb->vendor && is_id(usb->vendor, selector->vendor) && usb->product &&
	       is_id(usb->product, selector->product) &&
	       (!selector->serial || str_match(selector->serial, usb->serial)) &&
	       (!selector->port_path || str_match(selector->port_path, usb->port));
}

static int by_port(const void *a, const void *b)
{
	const struct usb_candidate *x = a;
	const struct usb_candidate *y = b;

	return strcmp(x->device->status.port_path, y->device->status.port_path);
}

static struct usb_candidate *in_port(struct usb_candidates *candidates, const char *port)
{
	for (size_t i = 0; i < candidates->len; i++) {
		if (str_match(candidates->items[i].device->status.port_path, port))
			return &candidates->items[i];
	}
	return NULL;
}

static struct usb_member member_copy(const struct usb_member *from)
{
	return (struct usb_member){ from->vendor, from->product, xstrdup_or_null(from->serial) };
}

/* @device matches a selector, so that its ids can be read. */
static struct usb_member member_of(const struct usbdevice *device)
{
	const struct usbdevice_status *is = &device->status;
	uint64_t vendor = 0;
	uint64_t product = 0;

	(void)str_to_hex(is->vendor_id, &vendor);
	(void)str_to_hex(is->product_id, &product);
	return (struct usb_member){ (uint16_t)vendor, (uint16_t)product,
				    xstrdup_or_null(is->serial_number) };
}

/* The members are taken. @before: the bundle of before with this ID; NULL: none, and all members
 * are there. */
static void bundle_add(struct making *making, const struct config_usb *entry,
		       struct usb_candidate **members, const char *id,
		       const struct usb_bundle *before)
{
	size_t len = entry->selectors.len;
	const struct usbdevice **list = xcalloc(len, sizeof(const struct usbdevice *));
	struct usb_member *known = xcalloc(len, sizeof(*known));

	for (size_t i = 0; i < len; i++) {
		if (!members[i]) {
			known[i] = member_copy(&before->members[i]);
			continue;
		}
		known[i] = member_of(members[i]->device);
		list[i] = members[i]->device;
		members[i]->taken = true;
		members[i]->by = entry->resource;
	}
	*array_add(making->now) = (struct usb_bundle){ .resource = xstrdup(entry->resource),
						       .id = xstrdup(id),
						       .devices = list,
						       .members = known,
						       .len = len };
}

/* Would @selector take the device that was in the socket @port, which is empty now? */
static bool takes_absent(const struct config_usb_selector *selector,
			 const struct usb_member *member, const char *port)
{
	return selector->vendor == member->vendor && selector->product == member->product &&
	       (!selector->serial || str_match(selector->serial, member->serial)) &&
	       (!selector->port_path || str_match(selector->port_path, port));
}

/* Is the bundle of before still one? */
static bool find_members(struct making *making, const struct config_usb *entry,
			 const struct usb_bundle *bundle, struct usb_candidate **ret_members)
{
	auto_free char *copy = xstrdup(bundle->id);
	char *rest = copy;
	const char *port;
	size_t len = 0;

	while ((port = strsep(&rest, ","))) {
		struct usb_candidate *member = in_port(making->candidates, port);
		const struct config_usb_selector *selector;

		if (len == entry->selectors.len || len == bundle->len)
			return false;
		selector = &entry->selectors.items[len];
		if (member ? member->taken || !matches(selector, member->device)
			   : !takes_absent(selector, &bundle->members[len], port))
			return false;
		ret_members[len++] = member;
	}
	return len == entry->selectors.len;
}

static void keep_bundles(struct making *making, const struct config_usb *entry)
{
	struct usb_candidate *members[CONFIG_SELECTORS_MAX];

	for (size_t i = 0; i < making->before->len; i++) {
		struct usb_bundle *bundle = &making->before->items[i];

		if (strcmp(bundle->resource, entry->resource) == 0 &&
		    find_members(making, entry, bundle, members))
			bundle_add(making, entry, members, bundle->id, bundle);
	}
}

static struct usb_candidate *pick(struct usb_candidates *candidates,
				  const struct config_usb_selector *selector)
{
	for (size_t i = 0; i < candidates->len; i++) {
		struct usb_candidate *candidate = &candidates->items[i];

		if (!candidate->taken && candidate->usable && matches(selector, candidate->device))
			return candidate;
	}
	return NULL;
}

/* False if a selector finds no device any more. */
static bool make_bundle(struct making *making, const struct config_usb *entry)
{
	struct usb_candidate *members[CONFIG_SELECTORS_MAX];
	auto_str struct str id = STR_INIT;
	size_t len = 0;

	for (; len < entry->selectors.len; len++) {
		members[len] = pick(making->candidates, &entry->selectors.items[len]);
		if (!members[len])
			break;
		members[len]->taken = true;
		str_addf(&id, "%s%s", len ? "," : "", members[len]->device->status.port_path);
	}
	if (len == entry->selectors.len) {
		bundle_add(making, entry, members, str_cstr(&id), NULL);
		return true;
	}
	while (len > 0)
		members[--len]->taken = false;
	return false;
}

/* Without a claim, its devices are another plugin's, or nobody's. */
static bool is_left(const struct config_usb *entry)
{
	return entry->external || entry->dra != CONFIG_DRA_OFF;
}

/* Nor does a later entry offer them. */
static void leave(struct making *making, const struct config_usb *entry)
{
	for (size_t i = 0; i < entry->selectors.len; i++) {
		struct usb_candidate *candidate;

		while ((candidate = pick(making->candidates, &entry->selectors.items[i]))) {
			candidate->taken = true;
			candidate->by = entry->resource;
		}
	}
}

/* --- why there are none ----------------------------------------------------------------------- */

static char *selector_text(const struct config_usb_selector *selector)
{
	struct str text = STR_INIT;

	str_addf(&text, "%04x:%04x", selector->vendor, selector->product);
	if (selector->serial)
		str_addf(&text, ", serial number '%s'", selector->serial);
	if (selector->port_path)
		str_addf(&text, ", port %s", selector->port_path);
	return str_detach(&text);
}

/* The best match for the message about @selector: prefer a device that is taken to one that is not
 * claimable. */
static const struct usb_candidate *nearest(const struct config_usb_selector *selector,
					   const struct usb_candidates *candidates)
{
	const struct usb_candidate *found = NULL;

	for (size_t i = 0; i < candidates->len; i++) {
		const struct usb_candidate *candidate = &candidates->items[i];

		if (matches(selector, candidate->device) &&
		    (!found || (candidate->taken && !found->taken)))
			found = candidate;
	}
	return found;
}

/* The socket of a hub that @selector means; NULL: none. */
static const char *find_hub(const struct config_usb_selector *selector, const struct facts *facts)
{
	for (size_t i = 0; facts && i < facts->usb.len; i++) {
		const struct usb_facts *usb = &facts->usb.items[i];

		if (usb->hub && matches_facts(selector, usb))
			return usb->port;
	}
	return NULL;
}

/* The message for a selector with too few devices. */
static char *lack_text(const struct config_usb_selector *selector,
		       const struct usb_candidates *candidates, const char **ret_reason)
{
	const struct usb_candidate *near = nearest(selector, candidates);
	const char *hub = near ? NULL : find_hub(selector, candidates->facts);
	auto_free char *wanted = selector_text(selector);

	if (hub) {
		*ret_reason = CONFIG_DEVICES_REFUSED;
		return xasprintf(
			"the device in port %s (%s) is a hub, which cannot be offered: name the "
			"devices behind it",
			hub, wanted);
	}
	if (near && near->taken && near->by) {
		*ret_reason = CONFIG_DEVICES_TAKEN;
		return xasprintf(
			"the device in port %s (%s) is already offered as '%s': change one of "
			"the two claims or entries",
			near->device->status.port_path, wanted, near->by);
	}
	if (near && !near->usable) {
		*ret_reason = CONFIG_DEVICES_REFUSED;
		return xasprintf("the device in port %s (%s) cannot be offered: see the condition "
				 "Claimable of its USBDevice",
				 near->device->status.port_path, wanted);
	}
	*ret_reason = CONFIG_NO_DEVICE;
	return xasprintf("there is no%s device %s: plug one in", near ? " further" : "", wanted);
}

static bool has_bundle(const struct usb_bundles *bundles, const char *resource)
{
	for (size_t i = 0; i < bundles->len; i++) {
		if (strcmp(bundles->items[i].resource, resource) == 0)
			return true;
	}
	return false;
}

/* A bundle is made once more, to see where it ends. */
char *usb_bundles_unmet(const struct config_usb *entry, const struct usb_candidates *candidates,
			const struct usb_bundles *bundles, const char **ret_reason)
{
	struct usb_candidates copy = { .facts = candidates->facts };
	struct usb_candidate *picked;
	char *text = NULL;

	if (is_left(entry) || has_bundle(bundles, entry->resource))
		return NULL;
	for (size_t i = 0; i < candidates->len; i++)
		*array_add(&copy) = candidates->items[i];
	for (size_t i = 0; i < entry->selectors.len && !text; i++) {
		picked = pick(&copy, &entry->selectors.items[i]);
		if (picked)
			picked->taken = true;
		else
			text = lack_text(&entry->selectors.items[i], &copy, ret_reason);
	}
	array_done(&copy);
	return text;
}

bool usb_bundles_for_dra(const struct config *config, const struct usbdevice *device)
{
	for (size_t i = 0; config && i < config->usb.len; i++) {
		const struct config_usb *entry = &config->usb.items[i];

		for (size_t k = 0; k < entry->selectors.len; k++) {
			if (matches(&entry->selectors.items[k], device))
				return entry->dra == CONFIG_DRA_CLAIMED;
		}
	}
	return false;
}

void usb_bundles_make(const struct config *config, struct usb_candidates *candidates,
		      struct usb_bundles *bundles)
{
	struct usb_bundles now = { 0 };
	struct making making = { candidates, bundles, &now };
	size_t len = config ? config->usb.len : 0;

	if (candidates->len > 0)
		qsort(candidates->items, candidates->len, sizeof(*candidates->items), by_port);
	for (size_t i = 0; i < len; i++) {
		const struct config_usb *entry = &config->usb.items[i];

		if (is_left(entry))
			leave(&making, entry);
		else
			keep_bundles(&making, entry);
	}
	for (size_t i = 0; i < len; i++) {
		const struct config_usb *entry = &config->usb.items[i];

		while (!is_left(entry) && entry->selectors.len > 0 && make_bundle(&making, entry))
			;
	}
	usb_bundles_done(bundles);
	*bundles = now;
}

#include "controller/cache/view_text.h"

#include <string.h>

#include "api/condition.h"
#include "api/meta.h"
#include "api/names.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/cache/view.h"
#include "controller/cache/view_kinds.h"

enum { TEXT_MAX = 1024, MESSAGE_MAX = 240, MEMBERS_MAX = 1024 };

/* --- encoding
 * ------------------------------------------------------------------------------------- */

static void text_put(struct str *out, enum view_text text, const char *value, size_t max)
{
	if (!value || !*value)
		return;
	str_add_char(out, (char)text);
	str_add_mem(out, value, strnlen(value, max));
	str_add_mem(out, "", 1);
}

/* Node and resource in full, because they are written to other objects. */
static void put_names(struct str *out, const struct owned *owned)
{
	const char *node =
		owned->status.node_name ? owned->status.node_name : owned->spec.node_name;
	const char *name = api_meta_annotation(&owned->meta, NAMES_ANNOTATION_RESOURCE_NAME);

	text_put(out, VIEW_TEXT_NODE, node, SIZE_MAX);
	if (!node)
		text_put(out, VIEW_TEXT_NODE_LABEL, api_meta_label(&owned->meta, NAMES_LABEL_NODE),
			 SIZE_MAX);
	text_put(out, VIEW_TEXT_RESOURCE, owned->status.resource_name, SIZE_MAX);
	if (name && names_valid_lent_resource(name) && !names_kubevirts_resource(name))
		text_put(out, VIEW_TEXT_OVERRIDE, name, SIZE_MAX);
}

/* The driver before passthrough; omitted if it is the current one. */
static void put_driver(struct str *out, const struct owned *owned)
{
	const char *driver = owned->status.driver;
	const char *native = api_meta_annotation(&owned->meta, NAMES_ANNOTATION_DRIVER);

	text_put(out, VIEW_TEXT_DRIVER, driver, TEXT_MAX);
	if (native && (!driver || strcmp(native, driver) != 0))
		text_put(out, VIEW_TEXT_NATIVE, native, TEXT_MAX);
}

/* A cut text ends in a mark. */
static void put_words(struct str *out, enum view_text text, const char *value)
{
	auto_str struct str words = STR_INIT;

	if (!value)
		return;
	str_add_mem(&words, value, strnlen(value, TEXT_MAX));
	str_cut(&words, MESSAGE_MAX);
	text_put(out, text, str_cstr(&words), MESSAGE_MAX);
}

static void put_refusal(struct str *out, const struct api_conditions *conditions)
{
	const struct api_condition *claimable = api_conditions_find(conditions, "Claimable");

	if (!claimable || !claimable->status || strcmp(claimable->status, "False") != 0)
		return;
	text_put(out, VIEW_TEXT_REASON, claimable->reason ? claimable->reason : "Unknown",
		 TEXT_MAX);
	put_words(out, VIEW_TEXT_MESSAGE, claimable->message);
}

static void put_ids(struct str *out, const char *vendor, const char *device)
{
	auto_free char *ids = NULL;

	if (!vendor || !*vendor || !device || !*device)
		return;
	ids = xasprintf("%s:%s", vendor, device);
	text_put(out, VIEW_TEXT_MODEL, ids, TEXT_MAX);
}

/* The selector for KubeVirt. */
static void put_model(struct str *out, const struct owned_status *status)
{
	put_ids(out, status->vendor_id, status->device_id);
	put_ids(out, status->usb_vendor_id, status->usb_product_id);
	text_put(out, VIEW_TEXT_MODEL, status->type_name, TEXT_MAX);
}

/* One pod at a time uses a device: two cannot open an IOMMU group. */
static void put_pod(struct str *out, const struct pcidevice_allocations *list)
{
	for (size_t i = 0; i < list->len; i++) {
		const struct pcidevice_allocation *one = &list->items[i];
		auto_free char *pod = NULL;

		if (!one->namespace || !one->pod)
			continue;
		pod = xasprintf("%s/%s", one->namespace, one->pod);
		text_put(out, VIEW_TEXT_POD, pod, TEXT_MAX);
		return;
	}
}

static void put_finalizers(struct str *out, const struct api_meta *meta)
{
	auto_str struct str list = STR_INIT;

	for (size_t i = 0; meta->deletion_timestamp && i < meta->finalizers.len; i++)
		str_addf(&list, "%s%s", i ? ", " : "", meta->finalizers.items[i]);
	text_put(out, VIEW_TEXT_FINALIZERS, str_cstr(&list), TEXT_MAX);
}

static void put_members(struct str *out, const struct json_strs *members)
{
	for (size_t i = 0; members->len > 1 && i < members->len && i < MEMBERS_MAX; i++)
		text_put(out, VIEW_TEXT_MEMBER, members->items[i], NAMES_ADDRESS_SIZE - 1);
}

static void put_all(struct str *out, const struct owned *owned)
{
	const struct owned_spec *spec = &owned->spec;
	const struct owned_status *status = &owned->status;

	put_names(out, owned);
	text_put(out, VIEW_TEXT_ADDRESS, status->address ? status->address : spec->address,
		 TEXT_MAX);
	text_put(out, VIEW_TEXT_GROUP, status->group, TEXT_MAX);
	put_driver(out, owned);
	text_put(out, VIEW_TEXT_PARENT, status->parent ? status->parent : spec->parent, TEXT_MAX);
	text_put(out, VIEW_TEXT_CARD, api_meta_label(&owned->meta, NAMES_LABEL_PARENT_GPU),
		 TEXT_MAX);
	text_put(out, VIEW_TEXT_PORT, status->port, TEXT_MAX);
	put_refusal(out, &status->conditions);
	put_model(out, status);
	put_pod(out, &status->allocations);
	text_put(out, VIEW_TEXT_USER, spec->user, TEXT_MAX);
	put_finalizers(out, &owned->meta);
	put_members(out, &status->members);
	str_add_mem(out, "", 1);
}

struct view *view_with_texts(const struct owned *owned)
{
	auto_str struct str texts = STR_INIT;
	struct view *view;

	put_all(&texts, owned);
	view = xcalloc(1, sizeof(*view) + texts.len);
	memcpy(view + 1, texts.buf, texts.len);
	return view;
}

/* --- lookup
 * ------------------------------------------------------------------------------------- */

/* The first string of type @text at or after @at, which points to a type byte; the end if there
 * is none. */
static const char *find_text(const char *at, enum view_text text)
{
	while (*at && *at != (char)text)
		at += strlen(at) + 1;
	return at;
}

static const char *first_text(const struct view *view, enum view_text text)
{
	return find_text((const char *)(view + 1), text);
}

static const char *next_text(const char *at, enum view_text text)
{
	return find_text(at + strlen(at) + 1, text);
}

const char *view_text(const struct view *view, enum view_text text)
{
	const char *at = first_text(view, text);

	if (!*at && text == VIEW_TEXT_NATIVE)
		at = first_text(view, VIEW_TEXT_DRIVER);
	return *at ? at + 1 : at;
}

size_t view_members(const struct view *view)
{
	size_t len = 0;

	for (const char *at = first_text(view, VIEW_TEXT_MEMBER); *at;
	     at = next_text(at, VIEW_TEXT_MEMBER))
		len++;
	return len;
}

const char *view_member(const struct view *view, size_t i)
{
	const char *at = first_text(view, VIEW_TEXT_MEMBER);

	while (*at && i-- > 0)
		at = next_text(at, VIEW_TEXT_MEMBER);
	return *at ? at + 1 : at;
}

bool view_has_member(const struct view *view, const char *address)
{
	for (const char *at = first_text(view, VIEW_TEXT_MEMBER); *at;
	     at = next_text(at, VIEW_TEXT_MEMBER)) {
		if (strcmp(at + 1, address) == 0)
			return true;
	}
	return false;
}

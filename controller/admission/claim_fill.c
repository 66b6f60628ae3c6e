#include "controller/admission/claim_fill.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/names.h"
#include "controller/admission/known.h"
#include "controller/admission/rule.h"
#include "controller/cache/view.h"
#include "controller/cache/view_text.h"
#include "controller/webhook/admission_answer.h"
#include "controller/webhook/admission_review.h"

/* A field of the spec and its default. */
struct fill {
	const char *key;
	const char *value; /* NULL: unknown */
};

enum { FILLS_MAX = 3 };

static json_t *not_null(json_t *json)
{
	if (!json)
		abort(); /* out of memory; all strings are UTF-8 */
	return json;
}

static void set_text(json_t *object, const char *key, const char *text)
{
	json_object_set_new(object, key, not_null(json_string(text)));
}

/* True for absent, null and "". */
static bool is_absent(const json_t *value)
{
	return !value || json_is_null(value) ||
	       (json_is_string(value) && json_string_length(value) == 0);
}

static const char *spec_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(json_object_get(object, "spec"), key));

	return text && *text ? text : NULL;
}

/* The claim's previous value is preferred to a new default. */
static const char *old_value(const struct rule_case *c, const char *key, const char *otherwise)
{
	const char *had = spec_text(c->request->old_object, key);

	return had ? had : otherwise;
}

static void fill_spec(const struct rule_case *c, const json_t *object, const struct fill *fills)
{
	json_t *spec = json_object_get(object, "spec");
	json_t *whole = not_null(json_object());

	if (!is_absent(spec) && !json_is_object(spec)) {
		json_decref(whole);
		return;
	}
	for (size_t i = 0; i < FILLS_MAX; i++) {
		char path[64];

		if (!fills[i].key || !fills[i].value ||
		    !is_absent(json_object_get(spec, fills[i].key)))
			continue;
		set_text(whole, fills[i].key, fills[i].value);
		(void)snprintf(path, sizeof(path), "/spec/%s", fills[i].key);
		if (!is_absent(spec))
			admission_answer_patch(c->answer, "add", path,
					       not_null(json_string(fills[i].value)));
	}
	if (is_absent(spec) && json_object_size(whole) > 0)
		admission_answer_patch(c->answer, "add", "/spec", json_incref(whole));
	json_decref(whole);
}

static bool has_owner(const json_t *owners, const char *kind)
{
	for (size_t i = 0; i < json_array_size(owners); i++) {
		const char *is =
			json_string_value(json_object_get(json_array_get(owners, i), "kind"));

		if (is && strcmp(is, kind) == 0)
			return true;
	}
	return false;
}

static void fill_owner(const struct rule_case *c, const json_t *object, enum view_kind known)
{
	const char *kind = view_whole(known)->kind;
	const char *uid = known_uid(c->known, known, c->request->name);
	const json_t *meta = json_object_get(object, "metadata");
	const json_t *owners = json_object_get(meta, "ownerReferences");
	json_t *ours;

	if (!*uid || !json_is_object(meta) || (!is_absent(owners) && !json_is_array(owners)) ||
	    has_owner(owners, kind) || !is_absent(json_object_get(meta, "deletionTimestamp")))
		return;
	ours = not_null(json_object());
	set_text(ours, "apiVersion", NAMES_GROUP "/" NAMES_VERSION);
	set_text(ours, "kind", kind);
	set_text(ours, "name", c->request->name);
	set_text(ours, "uid", uid);
	if (is_absent(owners))
		admission_answer_patch(c->answer, "add", "/metadata/ownerReferences",
				       not_null(json_array()));
	admission_answer_patch(c->answer, "add", "/metadata/ownerReferences/-", ours);
}

/* Only the creator of a claim is its user. */
static const char *user_of(const struct rule_case *c)
{
	bool creates = c->request->operation == ADMISSION_CREATE;

	return old_value(c, "userName", creates && *c->request->user ? c->request->user : NULL);
}

void claim_fill_pci(const struct rule_case *c, const json_t *object)
{
	const struct view *device = known_pcidevice(c->known, c->request->name);
	const struct fill fills[FILLS_MAX] = {
		{ "address",
		  old_value(c, "address", device ? view_text(device, VIEW_TEXT_ADDRESS) : NULL) },
		{ "nodeName",
		  old_value(c, "nodeName", device ? view_text(device, VIEW_TEXT_NODE) : NULL) },
		{ "userName", user_of(c) },
	};

	fill_spec(c, object, fills);
	fill_owner(c, object, VIEW_PCIDEVICE);
}

void claim_fill_usb(const struct rule_case *c, const json_t *object)
{
	const struct fill fills[FILLS_MAX] = { { "userName", user_of(c) } };

	fill_spec(c, object, fills);
	fill_owner(c, object, VIEW_USBDEVICE);
}

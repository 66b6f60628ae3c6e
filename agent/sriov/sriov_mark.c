#include "agent/sriov/sriov_mark.h"

#include <stdio.h>
#include <string.h>

#include "agent/inventory/facts.h"
#include "agent/sriov/sriov_plan.h"
#include "api/names.h"
#include "api/patch.h"
#include "api/sriovnetworkdevice.h"
#include "base/mem.h"

static void set_text(json_t *object, const char *key, const char *text)
{
	json_object_set_new(object, key, json_string(text ? text : ""));
}

/* How many there are, as the annotation says it. The caller frees. */
static char *found_text(const struct sriov_case *c)
{
	return xasprintf("%zu", c->pf->virtual_functions.len);
}

bool sriov_is_as_found(const struct sriovnetworkdevice *object)
{
	const char *found = api_meta_annotation(&object->meta, NAMES_ANNOTATION_FOUND_VFS);
	char count[16];

	(void)snprintf(count, sizeof(count), "%d", object->spec.num_vfs);
	return found && strcmp(found, count) == 0;
}

json_t *sriov_mark_new(const struct sriov_case *c)
{
	auto_free char *label = names_label_value(c->node_name);
	auto_free char *found = found_text(c);

	return json_pack("{s:{s:{s:s}, s:{s:s, s:s}}, s:{s:s, s:s, s:i}}", "metadata", "labels",
			 NAMES_LABEL_NODE, label, "annotations", NAMES_ANNOTATION_INTERFACE,
			 c->pf->interface, NAMES_ANNOTATION_FOUND_VFS, found, "spec", "address",
			 c->pf->address, "nodeName", c->node_name, "numVFs",
			 (int)c->pf->virtual_functions.len);
}

static void mark_labels(const struct sriov_case *c, json_t *meta)
{
	const char *has = api_meta_label(&c->object->meta, NAMES_LABEL_NODE);
	auto_free char *label = names_label_value(c->node_name);

	if (!has || strcmp(has, label) != 0)
		json_object_set_new(meta, "labels", json_pack("{s:s}", NAMES_LABEL_NODE, label));
}

/* While the card is lent it has no interface: then the annotation stays. */
static void mark_interface(const struct sriov_case *c, json_t *annotations)
{
	const char *has = api_meta_annotation(&c->object->meta, NAMES_ANNOTATION_INTERFACE);
	const char *is = c->pf ? c->pf->interface : NULL;

	if (is && (!has || strcmp(has, is) != 0))
		set_text(annotations, NAMES_ANNOTATION_INTERFACE, is);
}

static void mark_found(const struct sriov_case *c, json_t *annotations, json_t *spec)
{
	auto_free char *found = c->pf ? found_text(c) : NULL;
	const char *has = api_meta_annotation(&c->object->meta, NAMES_ANNOTATION_FOUND_VFS);

	if (!has)
		return;
	if (!sriov_is_as_found(c->object)) {
		json_object_set_new(annotations, NAMES_ANNOTATION_FOUND_VFS, json_null());
	} else if (found && strcmp(found, has) != 0) {
		set_text(annotations, NAMES_ANNOTATION_FOUND_VFS, found);
		json_object_set_new(spec, "numVFs",
				    json_integer((json_int_t)c->pf->virtual_functions.len));
	}
}

static void mark_spec(const struct sriov_case *c, json_t *spec)
{
	if (!c->object->spec.address && c->pf)
		set_text(spec, "address", c->pf->address);
	if (!c->object->spec.node_name)
		set_text(spec, "nodeName", c->node_name);
}

json_t *sriov_mark(const struct sriov_case *c)
{
	json_t *body = patch_new(&c->object->meta);
	json_t *meta = json_object_get(body, "metadata");
	json_t *annotations = json_object();
	json_t *spec = json_object();
	size_t before = json_object_size(meta);

	mark_labels(c, meta);
	mark_interface(c, annotations);
	mark_found(c, annotations, spec);
	mark_spec(c, spec);
	if (json_object_size(annotations) > 0)
		json_object_set(meta, "annotations", annotations);
	if (json_object_size(spec) > 0)
		json_object_set(body, "spec", spec);
	json_decref(annotations);
	json_decref(spec);
	if (json_object_size(meta) > before || json_object_size(body) > 1)
		return body;
	json_decref(body);
	return NULL;
}

#include "controller/admission/annotation_rule.h"

#include <string.h>

#include "api/meta.h"
#include "api/names.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/admission/known.h"
#include "controller/admission/rule.h"

/* What users may set. */
static const struct note_row {
	const char *key;
	unsigned of;  /* ANNOTATION_OF_… that can have it */
	bool is_flag; /* only "true" has an effect       */
} annotation_rows[] = {
	{ NAMES_ANNOTATION_OVERRIDE, ANNOTATION_OF_PCICLAIM | ANNOTATION_OF_USBCLAIM, true },
	{ NAMES_ANNOTATION_BY_ADDRESS, ANNOTATION_OF_PCICLAIM, true },
	{ NAMES_ANNOTATION_RESOURCE_NAME, ANNOTATION_OF_PCICLAIM | ANNOTATION_OF_PCIDEVICE, false },
	{ NAMES_ANNOTATION_SKIP_VFIO, ANNOTATION_OF_PCICLAIM, false },
};

/* A key of these domains that is not among the rows is misspelled. Other domains belong
 * to others too. */
static const char *const domains[] = { "hostdev.io/", "pcidevice.harvesterhci.io/",
				       "pcidevices.harvesterhci.io/" };

static const char *words_of(enum annotation_of of)
{
	return of == ANNOTATION_OF_PCIDEVICE  ? "a PCIDevice"
	       : of == ANNOTATION_OF_USBCLAIM ? "the claim of a USB device"
					      : "a claim";
}

/* The part of a key behind its domain. */
static const char *name_part(const char *key)
{
	const char *slash = strchr(key, '/');

	return slash ? slash + 1 : key;
}

/* Also finds an annotation that is meant, but has another domain. */
static const struct note_row *find_note(const char *key)
{
	for (size_t i = 0; i < ARRAY_LEN(annotation_rows); i++) {
		if (strcmp(name_part(annotation_rows[i].key), name_part(key)) == 0)
			return &annotation_rows[i];
	}
	return NULL;
}

static bool has_domain(const char *key)
{
	for (size_t i = 0; i < ARRAY_LEN(domains); i++) {
		if (strncmp(key, domains[i], strlen(domains[i])) == 0)
			return true;
	}
	return false;
}

/* One that is meant by a misspelled key; NULL: none. */
static const char *nearest_note(const char *key, enum annotation_of of)
{
	size_t least = str_far(name_part(key));
	const char *nearest = NULL;

	for (size_t i = 0; i < ARRAY_LEN(annotation_rows); i++) {
		size_t distance = str_distance(name_part(key), name_part(annotation_rows[i].key));

		if (distance < least && (annotation_rows[i].of & of)) {
			least = distance;
			nearest = annotation_rows[i].key;
		}
	}
	return nearest;
}

static void warn_unknown(const struct rule_case *c, const char *key, enum annotation_of of)
{
	const char *nearest = nearest_note(key, of);
	auto_free char *shown = rule_quote(key);

	if (nearest)
		rule_warn(c, "the annotation %s has no effect: did you mean %s?", shown, nearest);
	else
		rule_warn(c,
			  "the annotation %s has no effect: hostdev has no such annotation of %s",
			  shown, words_of(of));
}

static void warn_note(const struct rule_case *c, const char *key, const char *value,
		      enum annotation_of of)
{
	const struct note_row *row = find_note(key);
	auto_free char *shown_key = rule_quote(key);
	auto_free char *shown = rule_quote(value);

	if (!row && has_domain(key))
		warn_unknown(c, key, of);
	else if (row && !(row->of & of))
		rule_warn(c, "the annotation %s has no effect on %s%s", shown_key, words_of(of),
			  of == ANNOTATION_OF_PCIDEVICE ? ": set it on its claim" : "");
	else if (row && strcmp(row->key, key) != 0)
		rule_warn(c, "the annotation %s has no effect: set %s", shown_key, row->key);
	else if (row && row->is_flag && !known_same(value, "true") && !known_same(value, "false"))
		rule_warn(c, "the annotation %s is '%s' and has no effect: set it to \"true\"",
			  shown_key, shown);
	else if (row && strcmp(key, NAMES_ANNOTATION_RESOURCE_NAME) == 0 && !*value)
		rule_warn(c, "the annotation %s is empty and has no effect: set a resource name",
			  shown_key);
	else if (row && strcmp(key, NAMES_ANNOTATION_SKIP_VFIO) == 0 && !known_same(value, "true"))
		rule_warn(c,
			  "the annotation %s is '%s' and has its effect nevertheless: remove it to "
			  "have the device bound",
			  shown_key, shown);
}

void annotation_rule(const struct rule_case *c, const struct api_meta *meta,
		     const struct api_meta *old, enum annotation_of of)
{
	for (size_t i = 0; i < meta->annotations.len; i++) {
		const char *key = meta->annotations.items[i].key;
		const char *value = meta->annotations.items[i].value;

		const char *before = old ? api_meta_annotation(old, key) : NULL;

		if (!before || strcmp(before, value) != 0)
			warn_note(c, key, value, of);
	}
}

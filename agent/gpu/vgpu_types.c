#include "agent/gpu/vgpu_types.h"

#include <string.h>

#include "api/json_values.h"
#include "base/mem.h"
#include "base/str.h"

/* A part of a line. */
struct part {
	const char *text;
	size_t len;
};

static struct part trim(const char *text, size_t len)
{
	while (len > 0 && (*text == ' ' || *text == '\t')) {
		text++;
		len--;
	}
	while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t' || text[len - 1] == '\r'))
		len--;
	return (struct part){ text, len };
}

static bool is_id(const char *text, size_t len)
{
	if (len == 0 || len > VGPU_TYPE_ID_MAX || text[0] == '0')
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
	}
	return true;
}

bool vgpu_type_valid(const char *id)
{
	return id && is_id(id, strlen(id));
}

/* The header's first column is no number, so it is passed over like everything else. */
static void take_line(const char *line, size_t len, struct json_pairs *types)
{
	const char *colon = memchr(line, ':', len);
	auto_str struct str name = STR_INIT;
	auto_free char *id_text = NULL;
	struct part id;
	struct part rest;

	if (!colon)
		return;
	id = trim(line, (size_t)(colon - line));
	rest = trim(colon + 1, len - (size_t)(colon + 1 - line));
	if (!is_id(id.text, id.len) || rest.len == 0 || rest.len > VGPU_TYPE_NAME_MAX)
		return;
	str_add_clean(&name, rest.text, rest.len);
	if (name.len > VGPU_TYPE_NAME_MAX || json_pairs_get(types, str_cstr(&name)))
		return;
	id_text = xstrndup(id.text, id.len);
	json_pairs_set(types, str_cstr(&name), id_text);
}

void vgpu_types_parse(const struct json_strs *lines, struct json_pairs *ret_types)
{
	for (size_t i = 0; i < lines->len && ret_types->len < VGPU_TYPES_MAX; i++)
		take_line(lines->items[i], strlen(lines->items[i]), ret_types);
}

const char *vgpu_types_name(const struct json_pairs *types, const char *id)
{
	for (size_t i = 0; i < types->len; i++) {
		if (strcmp(types->items[i].value, id) == 0)
			return types->items[i].key;
	}
	return NULL;
}

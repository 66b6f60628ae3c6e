#include "agent/inventory/mdev_names.h"

#include <string.h>

#include "agent/inventory/facts.h"
#include "base/mem.h"

/* @name without the blanks around it. */
static const char *trim(const char *name, size_t *ret_len)
{
	size_t len;

	name += strspn(name, " \t\n");
	len = strlen(name);
	while (len > 0 && strchr(" \t\n", name[len - 1]))
		len--;
	*ret_len = len;
	return name;
}

char *mdev_type_name(const char *id, const char *name)
{
	size_t len = 0;
	const char *start = trim(name ? name : "", &len);
	char *text = len > 0 ? xstrndup(start, len) : xstrdup(id ? id : "");

	for (char *c = text; *c; c++) {
		if (*c == ' ')
			*c = '_';
	}
	return text;
}

/* A blank counts as '_', and blanks around count for nothing. */
static bool same(const char *a, const char *b)
{
	size_t a_len;
	size_t b_len;

	a = trim(a, &a_len);
	b = trim(b, &b_len);
	for (size_t i = 0; i < a_len && a_len == b_len; i++) {
		if ((a[i] == ' ' ? '_' : a[i]) != (b[i] == ' ' ? '_' : b[i]))
			return false;
	}
	return a_len == b_len && a_len > 0;
}

bool mdev_type_is(const char *wanted, const char *id, const char *name)
{
	return (id && same(wanted, id)) || (name && same(wanted, name));
}

const char *mdev_owner(const struct facts *facts, const struct mdev_facts *mdev)
{
	for (size_t i = 0; i < facts->mdev_records.len; i++) {
		const struct mdev_record_facts *record = &facts->mdev_records.items[i];

		if (strcmp(record->uuid, mdev->uuid) != 0)
			continue;
		if (record->this_boot && strcmp(record->parent, mdev->parent) == 0 && mdev->type &&
		    strcmp(record->type, mdev->type) == 0)
			return record->owner;
		return NULL;
	}
	return NULL;
}

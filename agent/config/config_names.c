#include "agent/config/config_names.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"

/* As in the name of a variable: '/' and '.' are one, and so is 'a' and 'A'. */
static char fold(char c)
{
	return c == '/' || c == '.' ? '_' : (char)toupper((unsigned char)c);
}

static bool same_variable(const char *a, const char *b)
{
	while (*a && fold(*a) == fold(*b)) {
		a++;
		b++;
	}
	return fold(*a) == fold(*b);
}

static int compare(const struct config_claim *has, const struct config_claim *wants,
		   struct err *err)
{
	bool same = strcmp(has->name, wants->name) == 0;

	if (!same && has->env && wants->env && strcmp(has->env, wants->env) == 0 &&
	    same_variable(has->name, wants->name))
		return err_set(err, ERR_INVALID, -EEXIST,
			       "containers would get the devices of '%s' and of this in one "
			       "variable: names that differ only in case, '/' and '.' cannot both "
			       "be used",
			       has->name);
	if (!same)
		return 0;
	if (strcmp(has->list, wants->list) != 0)
		return err_set(err, ERR_INVALID, -EEXIST,
			       "the name is that of an entry of %s already: give it another",
			       has->list);
	if (has->external != wants->external)
		return err_set(
			err, ERR_INVALID, -EEXIST,
			"another entry with the same name has another externalResourceProvider");
	if (!has->pools || !wants->pools)
		return err_set(err, ERR_INVALID, -EEXIST,
			       "another entry of this list has the name already: give it another");
	return 0;
}

int config_names_take(struct config_names *names, const struct config_claim *claim, struct err *err)
{
	for (size_t i = 0; i < names->len; i++) {
		int r = compare(&names->items[i], claim, err);

		if (r < 0)
			return r;
	}
	*array_add(names) = *claim;
	return 0;
}

void config_names_done(struct config_names *names)
{
	array_done(names);
}

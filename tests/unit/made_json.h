/* made_json: JSON that a test writes down with ' for ". The caller frees. */
#pragma once

#include "base/mem.h"

static inline char *made_json(const char *text)
{
	char *json = xstrdup(text);

	for (char *c = json; *c; c++) {
		if (*c == '\'')
			*c = '"';
	}
	return json;
}

#include "agent/resource/resource_env.h"

#include "base/mem.h"

char *resource_env(const char *prefix, const char *resource)
{
	char *name = xasprintf("%s_%s", prefix, resource);

	for (char *c = name; *c; c++) {
		if (*c == '/' || *c == '.')
			*c = '_';
		else if (*c >= 'a' && *c <= 'z')
			*c = (char)(*c - 'a' + 'A');
	}
	return name;
}

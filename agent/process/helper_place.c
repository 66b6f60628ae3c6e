#include "agent/process/helper_place.h"

#include "api/json_values.h"

static void add_option(struct json_strs *words, const char *flag, const char *value)
{
	if (!value)
		return;
	json_strs_add(words, flag);
	json_strs_add(words, value);
}

void helper_place_words(const struct helper_place *place, const char *node_address,
			struct json_strs *words)
{
	add_option(words, "--state-dir", place->state_dir);
	add_option(words, "--sysfs-root", place->sysfs_root);
	add_option(words, "--proc-root", place->proc_root);
	add_option(words, "--dev-root", place->dev_root);
	add_option(words, "--node-address", node_address);
}

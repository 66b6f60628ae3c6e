#include "agent/mdev/mdev_wish.h"

#include <stddef.h>

#include "agent/config/config.h"

static void add_all(struct json_strs *list, const struct json_strs *types)
{
	for (size_t i = 0; i < types->len; i++)
		json_strs_add_new(list, types->items[i]);
}

void mdev_wish_make(const struct config *config, const struct json_pairs *labels,
		    struct mdev_wish *ret_wish)
{
	struct mdev_wish wish = { 0 };

	wish.enabled = config && labels && config->mdev_types.enabled;
	for (size_t i = 0; wish.enabled && i < config->mdev_types.nodes.len; i++) {
		const struct config_node_types *entry = &config->mdev_types.nodes.items[i];

		if (config_selects(&entry->selector, labels))
			add_all(&wish.types, &entry->types);
	}
	if (wish.enabled && wish.types.len == 0)
		add_all(&wish.types, &config->mdev_types.types);
	for (size_t i = 0; wish.enabled && i < config->mdevs.len; i++) {
		if (config->mdevs.items[i].external)
			json_strs_add_new(&wish.kept, config->mdevs.items[i].type);
	}
	*ret_wish = wish;
}

void mdev_wish_done(struct mdev_wish *wish)
{
	json_strs_done(&wish->types);
	json_strs_done(&wish->kept);
}

bool mdev_wish_equal(const struct mdev_wish *a, const struct mdev_wish *b)
{
	return a->enabled == b->enabled && json_strs_equal(&a->types, &b->types) &&
	       json_strs_equal(&a->kept, &b->kept);
}

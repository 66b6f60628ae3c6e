/*
 * fuzz_hami_config: any bytes as each of HAMi's two configuration files. What is taken is within the
 * limits; a file that is refused changes nothing.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/hami/hami_config.h"
#include "base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct hami_config *config)
{
	assert(config->resource && *config->resource);
	assert(config->split >= 1 && config->split <= HAMI_SPLIT_MAX);
	assert(config->memory >= 1 && config->memory <= HAMI_SCALING_MAX);
	assert(config->cores >= 1 && config->cores <= HAMI_SCALING_MAX);
	assert(!config->log_level || strlen(config->log_level) == 1);
	assert(config->filtered.len <= 2 * (size_t)HAMI_FILTERS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct hami_config config;
	struct err err = { 0 };
	int r;

	hami_config_init(&config);
	r = hami_config_take_cluster("f", text, size, &config, &err);
	assert(r == 0 || (err.kind == ERR_INVALID && config.split == HAMI_SPLIT));
	check(&config);
	hami_config_done(&config);

	hami_config_init(&config);
	r = hami_config_take_node("f", text, size, "node1", &config, &err);
	assert(r == 0 || (err.kind == ERR_INVALID && config.split == HAMI_SPLIT));
	check(&config);
	hami_config_done(&config);
	return 0;
}

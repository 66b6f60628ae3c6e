#include "agent/gpu/gpu_words.h"

#include "agent/gpu/gpu_acts.h"
#include "agent/gpu/gpu_cards.h"
#include "agent/process/helper_place.h"
#include "base/mem.h"

static void add(struct json_strs *words, const char *word)
{
	json_strs_add(words, word);
}

static void add_value(struct json_strs *words, const char *key, const char *value)
{
	auto_free char *word = xasprintf("%s=%s", key, value);

	add(words, word);
}

static void add_number(struct json_strs *words, const char *flag, int number)
{
	auto_free char *word = xasprintf("%d", number);

	add(words, flag);
	add(words, word);
}

static void begin_helper(const struct gpu_options *options, const char *verb,
			 struct json_strs *words)
{
	add(words, verb);
	helper_place_words(&options->helper, NULL, words);
}

static const char *vfs_words(const struct gpu_options *options, const struct gpu_act *act,
			     struct json_strs *words)
{
	auto_free char *count = xasprintf("%d", act->count);

	if (options->sriov_manage && *options->sriov_manage) {
		add(words, act->verb == GPU_ENABLE_VFS ? "-e" : "-d");
		add(words, act->address);
		return options->sriov_manage;
	}
	begin_helper(options, "vfs", words);
	add_value(words, "address", act->address);
	add_value(words, "id", act->id);
	add_value(words, "count", count);
	return NULL;
}

static const char *mdev_words(const struct gpu_options *options, const struct gpu_act *act,
			      struct json_strs *words)
{
	bool make = act->verb == GPU_MAKE_MDEV;

	begin_helper(options, make ? "mdev-create" : "mdev-remove", words);
	add_value(words, "parent", act->address);
	if (make)
		add_value(words, "type", act->type);
	add_value(words, "owner", GPU_MDEV_OWNER);
	add_value(words, "uuid", act->uuid);
	return NULL;
}

static const char *mig_words(const struct gpu_options *options, const struct gpu_act *act,
			     struct json_strs *words)
{
	if (act->verb != GPU_MIG_MODE_ON)
		add(words, "mig");
	add(words, "-i");
	add(words, act->address);
	if (act->verb == GPU_MIG_MODE_ON) {
		add_number(words, "-mig", 1);
	} else if (act->verb == GPU_MIG_CREATE) {
		add_number(words, "-cgi", act->profile);
		add(words, "-C");
	} else if (act->verb == GPU_MIG_REMOVE_COMPUTE) {
		add(words, "-dci");
		add_number(words, "-gi", act->instance);
		add_number(words, "-ci", act->compute);
	} else {
		add(words, "-dgi");
		add_number(words, "-gi", act->instance);
	}
	return options->nvidia_smi;
}

const char *gpu_words(const struct gpu_options *options, const struct gpu_act *act,
		      struct json_strs *ret_words)
{
	switch (act->verb) {
	case GPU_ENABLE_VFS:
	case GPU_DISABLE_VFS:
		return vfs_words(options, act, ret_words);
	case GPU_SET_TYPE:
		begin_helper(options, "vgpu-set", ret_words);
		add_value(ret_words, "address", act->address);
		add_value(ret_words, "type", act->type);
		return NULL;
	case GPU_MAKE_MDEV:
	case GPU_REMOVE_MDEV:
		return mdev_words(options, act, ret_words);
	case GPU_MIG_MODE_ON:
	case GPU_MIG_CREATE:
	case GPU_MIG_REMOVE_COMPUTE:
	case GPU_MIG_REMOVE:
		return mig_words(options, act, ret_words);
	}
	return NULL;
}

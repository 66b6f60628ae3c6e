#include "agent/binder/binder_words.h"

#include "agent/binder/binder.h"
#include "api/json_map.h"
#include "base/array.h"
#include "base/mem.h"

static void add_option(struct json_strs *words, const char *flag, const char *value)
{
	if (!value)
		return;
	json_strs_add(words, flag);
	json_strs_add(words, value);
}

static void add_word(struct json_strs *words, const char *key, const char *value)
{
	if (value)
		*array_add(words) = xasprintf("%s=%s", key, value);
}

void binder_words(const struct binder_options *options, const char *node_address,
		  const struct binder_job *job, struct json_strs *words)
{
	json_strs_add(words, binder_verb_text(job->verb));
	add_option(words, "--group", job->group ? job->group : "-");
	add_option(words, "--state-dir", options->state_dir);
	add_option(words, "--sysfs-root", options->sysfs_root);
	add_option(words, "--proc-root", options->proc_root);
	add_option(words, "--dev-root", options->dev_root);
	add_option(words, "--node-address", node_address);
	for (size_t i = 0; i < job->len; i++) {
		const struct binder_function *function = &job->items[i];

		add_word(words, "address", function->address);
		add_word(words, "id", function->id);
		add_word(words, "serial", function->serial);
		add_word(words, "native", function->native);
		add_word(words, "driver", function->driver);
		add_word(words, "claim", function->claim);
		add_word(words, "uid", function->uid);
	}
}

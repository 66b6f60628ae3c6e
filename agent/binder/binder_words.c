#include "agent/binder/binder_words.h"

#include "agent/binder/binder.h"
#include "api/json_map.h"
#include "base/array.h"
#include "base/mem.h"

static void add_word(struct json_strs *words, const char *key, const char *value)
{
	if (value)
		*array_add(words) = xasprintf("%s=%s", key, value);
}

void binder_words(const struct binder_job *job, struct json_strs *options, struct json_strs *words)
{
	json_strs_add(options, "--group");
	json_strs_add(options, job->group ? job->group : "-");
	for (size_t i = 0; i < job->len; i++) {
		const struct binder_function *function = &job->items[i];

		add_word(words, "address", function->address);
		add_word(words, "id", function->id);
		add_word(words, "serial", function->serial);
		add_word(words, "identity", function->identity);
		add_word(words, "native", function->native);
		add_word(words, "driver", function->driver);
		add_word(words, "claim", function->claim);
		add_word(words, "uid", function->uid);
		add_word(words, "release", function->driverless ? "none" : NULL);
		add_word(words, "allow-unknown", function->allow_unknown ? "1" : NULL);
	}
}

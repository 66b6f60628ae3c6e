#include "cli/complete.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_map.h"
#include "api/json_values.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/options.h"
#include "base/str.h"
#include "cli/client/lists.h"
#include "cli/client/session.h"
#include "cli/command.h"
#include "cli/model/cluster.h"
#include "kube/config.h"

/* --- values of flags -------------------------------------------------------------------------- */

static void read_kubeconfig(const struct session_settings *settings, const char *flag,
			    struct json_strs *names)
{
	auto_free char *plural = xasprintf("%ss", flag);
	struct kube_config_source source = { 0 };

	kube_config_source_env(&source);
	source.path = settings->kubeconfig;
	kube_config_names(&source, plural, names);
}

static void read_namespaces(const struct session_settings *settings, struct json_strs *names)
{
	auto_answer struct session_answer answer = { 0 };
	auto_json json_t *list = NULL;
	struct session *session;
	struct err err = { 0 };
	const json_t *items;
	const json_t *item;
	size_t i;

	if (session_new(settings, &session, &err) < 0)
		return;
	if (session_ask(session,
			&(struct kube_request){
				.verb = "list",
				.resource = "namespaces",
				.method = "GET",
				.path = "/api/v1/namespaces?limit=500",
			},
			&answer, NULL) == 0 &&
	    json_map_load(answer.body, answer.len, &list, NULL) == 0) {
		items = json_object_get(list, "items");
		json_array_foreach (items, i, item) {
			const json_t *meta = json_object_get(item, "metadata");
			const char *name = json_string_value(json_object_get(meta, "name"));

			if (name)
				json_strs_add(names, name);
		}
	}
	session_free(session);
}

/* Append @name, with the description @words (may be NULL), if it begins with @prefix. */
static void add_offer(struct str *to, const char *prefix, const char *name, const char *words)
{
	if (strncmp(name, prefix, strlen(prefix)) != 0)
		return;
	out_text(to, name);
	if (words && words[0]) {
		str_add_char(to, '\t');
		out_text(to, words);
	}
	str_add_char(to, '\n');
}

/* Append the values of the wanted flag that begin with the prefix. */
static void complete_values(const struct complete_want *want,
			    const struct session_settings *settings, const char *prefix,
			    struct str *to)
{
	struct json_strs names = { 0 };

	if (strcmp(want->value->name, "namespace") == 0)
		read_namespaces(settings, &names);
	else
		read_kubeconfig(settings, want->value->name, &names);
	for (size_t i = 0; i < names.len; i++) {
		auto_free char *word = xasprintf("%s%s", want->before, names.items[i]);

		add_offer(to, prefix, word, NULL);
	}
	json_strs_done(&names);
}

/* --- words ------------------------------------------------------------------------------------ */

enum { TIMEOUT_MS = 3000 }; /* time limit for the cluster while a shell waits */

static const struct option_row cluster_rows[] = { COMMAND_CLUSTER_ROWS };

/* --- what can be said without the cluster ----------------------------------------------------- */

static const struct option_row *find_row(const struct command *command, const char *word)
{
	size_t len = strcspn(word, "=");

	for (size_t i = 0; command && i < command->rows_len; i++) {
		const struct option_row *row = &command->rows[i];

		if (word[0] == '-' && word[1] == row->letter && row->letter && !word[2])
			return row;
		if (strncmp(word, "--", 2) == 0 && strlen(row->name) == len - 2 &&
		    strncmp(word + 2, row->name, len - 2) == 0)
			return row;
	}
	return NULL;
}

/* A '.' that no space follows is in a name, such as spec.driver. */
static size_t sentence_len(const char *help)
{
	size_t len = strcspn(help, ".\n");

	while (help[len] == '.' && help[len + 1] && !strchr(" \n", help[len + 1]))
		len += 1 + strcspn(help + len + 1, ".\n");
	return len;
}

static void offer_flags(const struct command *command, const char *prefix, struct str *to)
{
	for (size_t i = 0; i < command->rows_len; i++) {
		const struct option_row *row = &command->rows[i];
		auto_free char *flag = xasprintf("--%s", row->name);
		auto_free char *words = xstrndup(row->help, sentence_len(row->help));

		if (!row->unsuggested)
			add_offer(to, prefix, flag, words);
	}
	add_offer(to, prefix, "--help", "Show the command's help");
}

/* What completes the value of a flag, if the kubeconfig or the cluster has names for it. */
static enum complete_words names_of(const struct option_row *row)
{
	static const struct {
		const char *flag;
		enum complete_words words;
	} flags[] = {
		{ "context", COMPLETE_VALUES }, { "cluster", COMPLETE_VALUES },
		{ "user", COMPLETE_VALUES },    { "namespace", COMPLETE_VALUES },
		{ "node", COMPLETE_NODES },     { "resource", COMPLETE_RESOURCES },
	};

	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		if (strcmp(row->name, flags[i].flag) == 0)
			return flags[i].words;
	}
	return COMPLETE_NOTHING;
}

static bool is_file(const struct option_row *row)
{
	return row->argument && strcmp(row->argument, "FILE") == 0;
}

/* "--output=js": the shell expects the whole word, with "--output=". */
static int offer_values(const struct option_row *row, const char *before, const char *prefix,
			struct complete_want *want, struct str *to)
{
	for (size_t i = 0; row->choices && row->choices[i]; i++) {
		auto_free char *word = xasprintf("%s%s", before, row->choices[i]);

		add_offer(to, prefix, word, NULL);
	}
	want->words = names_of(row);
	if (want->words != COMPLETE_NOTHING) {
		want->value = row;
		want->before = xstrdup(before);
	}
	return is_file(row) ? COMPLETE_FILES : COMPLETE_NO_FILES;
}

static void offer_commands(const struct command *const *commands, const char *prefix,
			   struct str *to)
{
	for (size_t i = 0; commands[i]; i++) {
		if (!commands[i]->hidden)
			add_offer(to, prefix, commands[i]->word, commands[i]->summary);
	}
}

/* Errors are ignored here: the command itself will report them. */
static void note_flag(struct complete_want *want, const struct option_row *row, const char *value)
{
	(void)options_set(&want->cluster, row->name, value, OPTION_FLAG, "", NULL);
}

/* Before the command, only the flags that all commands have are valid. */
static const struct command *any_command(const struct complete_line *line,
					 const struct complete_want *want)
{
	return want->command ? want->command : line->commands[0];
}

/* Read all words but the last. Returns the flag whose value the last word is, or NULL. */
static const struct option_row *read_words(const struct complete_line *line,
					   struct complete_want *want, char **taken)
{
	for (size_t i = 0; i + 1 < line->len; i++) {
		char *word = line->words[i];
		const struct option_row *row = find_row(any_command(line, want), word);

		if (row && !strchr(word, '=') && (row->type == OPTION_BOOL || row->bare)) {
			note_flag(want, row, row->bare ? row->bare : "true");
		} else if (row && !strchr(word, '=')) {
			if (i + 2 == line->len)
				return row;
			note_flag(want, row, line->words[++i]);
		} else if (row && strchr(word, '=')) {
			note_flag(want, row, strchr(word, '=') + 1);
		} else if (word[0] != '-' && !want->command) {
			want->command = command_find(line->commands, word);
		} else if (word[0] != '-') {
			taken[want->taken_len++] = word;
		}
	}
	return NULL;
}

static void offer_words(const struct complete_line *line, struct complete_want *want,
			const char *prefix, struct str *to)
{
	if (!want->command || want->command->completes == COMPLETE_COMMANDS)
		offer_commands(line->commands, prefix, to);
	else if (want->taken_len < want->command->words_max)
		want->words = want->command->completes;
	if (want->words == COMPLETE_SHELLS) {
		add_offer(to, prefix, "bash", NULL);
		add_offer(to, prefix, "zsh", NULL);
		want->words = COMPLETE_NOTHING;
	}
}

int complete_line(const struct complete_line *line, struct complete_want *ret_want, struct str *to)
{
	const char *prefix = line->words[line->len - 1];
	char **taken = xcalloc(line->len, sizeof(*taken));
	const struct option_row *row;

	*ret_want = (struct complete_want){ .taken = taken };
	ret_want->settings = xcalloc(1, sizeof(*ret_want->settings));
	options_init(&ret_want->cluster, cluster_rows, ARRAY_LEN(cluster_rows), ret_want->settings);
	row = read_words(line, ret_want, taken);
	if (row)
		return offer_values(row, "", prefix, ret_want, to);
	if (prefix[0] != '-') {
		offer_words(line, ret_want, prefix, to);
		return COMPLETE_NO_FILES;
	}
	row = strchr(prefix, '=') ? find_row(any_command(line, ret_want), prefix) : NULL;
	if (row) {
		auto_free char *before = xstrndup(prefix, strcspn(prefix, "=") + 1);

		return offer_values(row, before, prefix, ret_want, to);
	}
	if (ret_want->command)
		offer_flags(ret_want->command, prefix, to);
	return COMPLETE_NO_FILES;
}

void complete_want_done(struct complete_want *want)
{
	free(want->taken);
	free(want->before);
	options_done(&want->cluster);
	free(want->settings);
	*want = (struct complete_want){ 0 };
}

/* --- names from the cluster ------------------------------------------------------------------- */

static bool is_taken(const struct complete_want *want, const char *name)
{
	for (size_t i = 0; i < want->taken_len; i++) {
		if (strcmp(want->taken[i], name) == 0)
			return true;
	}
	return false;
}

static bool is_wanted(const struct complete_want *want, const struct cluster_device *device)
{
	if (is_taken(want, device->name))
		return false;
	switch (want->words) {
	case COMPLETE_DEVICES:
		return true;
	case COMPLETE_CLAIMABLE:
		return !device->claim && device->is_there && device->type != DEVICE_MDEV &&
		       (device->verdict.state == STATE_CLAIMABLE ||
			device->verdict.state == STATE_UNKNOWN);
	case COMPLETE_CLAIMED:
		return device->claim != NULL;
	case COMPLETE_NOTHING:
	case COMPLETE_NODES:
	case COMPLETE_SHELLS:
	case COMPLETE_COMMANDS:
	case COMPLETE_VALUES:
	case COMPLETE_RESOURCES:
		break;
	}
	return false;
}

/* The value of a flag, behind what is before it in the same word. */
static void offer_value(const struct complete_want *want, const char *value, const char *words,
			const char *prefix, struct str *to)
{
	auto_free char *word = xasprintf("%s%s", want->before ? want->before : "", value);

	add_offer(to, prefix, word, words);
}

static bool may_be_claimed(const struct cluster_device *device)
{
	return device->resource[0] && device->verdict.state == STATE_CLAIMABLE;
}

/* Each resource once, with the number of its claimable devices. */
static void offer_resources(const struct cluster_view *view, const struct complete_want *want,
			    const char *prefix, struct str *to)
{
	auto_free size_t *counts = xcalloc(view->len + 1, sizeof(*counts));
	struct map *firsts = map_new(); /* resource -> the count of its first device */

	for (size_t i = 0; i < view->len; i++) {
		const char *resource = view->devices[i].resource;
		size_t *count;

		if (!may_be_claimed(&view->devices[i]))
			continue;
		count = map_get(firsts, resource);
		if (!count) {
			count = &counts[i];
			map_set(firsts, resource, count);
		}
		(*count)++;
	}
	for (size_t i = 0; i < view->len; i++) {
		auto_free char *words = xasprintf("%zu claimable", counts[i]);

		if (counts[i] > 0)
			offer_value(want, view->devices[i].resource, words, prefix, to);
	}
	map_free(firsts);
}

static void offer_device(const struct complete_want *want, const struct cluster_device *device,
			 const char *prefix, struct str *to)
{
	auto_free char *words =
		xasprintf("%s: %s", state_look(device->verdict.state)->word, device->description);

	add_offer(to, prefix, device->name, words);
	/* Complete addresses only after a slash. */
	if (strchr(prefix, '/') && device->node[0] && device->address[0]) {
		auto_free char *place = xasprintf("%s/%s", device->node, device->address);

		if (!is_taken(want, place))
			add_offer(to, prefix, place, words);
	}
}

void complete_names(struct cluster *cluster, const struct complete_want *want, const char *prefix,
		    struct str *to)
{
	const struct cluster_view *view = cluster_view(cluster);

	for (size_t i = 0; want->words == COMPLETE_NODES && i < view->nodes_len; i++) {
		if (view->nodes[i].name[0])
			offer_value(want, view->nodes[i].name, NULL, prefix, to);
	}
	if (want->words == COMPLETE_RESOURCES)
		offer_resources(view, want, prefix, to);
	for (size_t i = 0; i < view->len; i++) {
		if (is_wanted(want, &view->devices[i]))
			offer_device(want, &view->devices[i], prefix, to);
	}
}

/* A shell cannot show errors, so kinds that cannot be read are left out. */
static void ask_cluster(const struct complete_want *want, const char *prefix, struct str *to)
{
	struct session_settings settings;
	/* Nothing can be claimed on a node that is not Ready. */
	const unsigned kinds = CLUSTER_DEVICES | CLUSTER_CARDS | CLUSTER_SET(CLUSTER_NODE);
	struct lists_want lists = { .kinds = kinds, .optional = kinds };
	struct cluster *cluster;
	struct session *session;
	struct err err = { 0 };

	command_cluster(want->settings, &settings);
	settings.timeout_ms = TIMEOUT_MS;
	settings.login_ms = TIMEOUT_MS;
	if (want->words == COMPLETE_VALUES) {
		complete_values(want, &settings, prefix, to);
		return;
	}
	if (session_new(&settings, &session, &err) < 0)
		return;
	cluster = cluster_new();
	(void)lists_read(session, &lists, cluster, NULL, &err);
	complete_names(cluster, want, prefix, to);
	cluster_free(cluster);
	session_free(session);
}

int complete_run(const struct complete_line *line)
{
	struct complete_want want;
	struct out out;
	int directive;
	int status;

	out_init(&out, OUT_NAME);
	directive = complete_line(line, &want, &out.text);
	if (want.words != COMPLETE_NOTHING)
		ask_cluster(&want, line->words[line->len - 1], &out.text);
	str_addf(&out.text, ":%d\n", directive);
	status = out_flush(&out) ? COMMAND_OK : COMMAND_FAILED;
	complete_want_done(&want);
	str_done(&out.text);
	return status;
}

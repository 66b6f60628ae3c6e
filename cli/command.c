#include "cli/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/client/claims.h"
#include "cli/client/lists.h"
#include "cli/client/session.h"

const struct command *command_find(const struct command *const *commands, const char *word)
{
	for (size_t i = 0; commands[i]; i++) {
		if (strcmp(commands[i]->word, word) == 0)
			return commands[i];
	}
	return NULL;
}

void command_cluster(const struct command_settings *settings, struct session_settings *ret_session)
{
	*ret_session = (struct session_settings){
		.kubeconfig = settings->kubeconfig,
		.context = settings->context,
		.flags = {
			.cluster = settings->cluster,
			.user = settings->kube_user,
			.server = settings->server,
			.tls_server_name = settings->tls_server_name,
			.ca = settings->ca,
			.cert = settings->cert,
			.key = settings->key,
			.token = settings->token,
			.as = settings->as,
			.as_uid = settings->as_uid,
			.as_groups = (const char *const *)settings->as_groups.items,
			.as_groups_len = settings->as_groups.len,
			.insecure = settings->insecure,
		},
		.timeout_ms = settings->request_timeout_ms,
	};
}

void command_claim(const struct command_settings *settings, struct claim_spec *ret_spec)
{
	*ret_spec = (struct claim_spec){
		.user = settings->claim_user,
		.driver = settings->driver,
		.include_group = settings->include_group,
		.driverless = settings->release_without_driver,
	};
}

struct session *command_session(struct command_run *run)
{
	struct session_settings settings;
	struct err err = { 0 };

	command_cluster(&run->settings, &settings);
	if (!run->session && session_new(&settings, &run->session, &err) < 0)
		command_fail(run, &err);
	return run->session;
}

static void say(const char *line)
{
	auto_str struct str clean = STR_INIT;

	out_text(&clean, line);
	out_say(str_cstr(&clean));
}

int command_fail(const struct command_run *run, const struct err *err)
{
	auto_free char *line = xasprintf("kubectl hostdev %s: %s", run->command->word, err->msg);

	say(line);
	return COMMAND_FAILED;
}

int command_misused(const struct command_run *run, const char *fmt, ...)
{
	char line[OUT_TEXT_MAX];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	return command_misuse(run->command->word, line);
}

int command_misuse(const char *word, const char *message)
{
	static const char help[] = "see --help";
	auto_free char *name = xasprintf("kubectl hostdev%s%s", word ? " " : "", word ? word : "");
	size_t len = strlen(message);
	size_t end = sizeof(help) - 1;

	if (len >= end && strcmp(message + len - end, help) == 0)
		command_note("%s: %.*ssee %s --help", name, (int)(len - end), message, name);
	else
		command_note("%s: %s", name, message);
	return COMMAND_MISUSED;
}

void command_say(const struct command_run *run, const char *text)
{
	auto_free char *line = xasprintf("kubectl hostdev %s: %s", run->command->word, text);

	out_say(line);
}

void command_note(const char *fmt, ...)
{
	char line[OUT_TEXT_MAX];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	say(line);
}

void command_tell_missing(const struct lists_missing *missing, unsigned kinds)
{
	auto_str struct str text = STR_INIT;

	lists_forbidden_text(missing, kinds, &text);
	if (text.len > 0)
		command_note("Not shown: %s", text.buf);
}

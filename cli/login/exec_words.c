#include "cli/login/exec_words.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "kube/config.h"

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *exec_find(const char *command, const char *path)
{
	if (strchr(command, '/'))
		return is_program(command) ? xstrdup(command) : NULL;
	for (const char *at = path ? path : ""; *at;) {
		size_t len = strcspn(at, ":");
		char *file = xasprintf("%.*s/%s", (int)len, at, command);

		if (*at == '/' && is_program(file))
			return file;
		free(file);
		at += len + (at[len] == ':');
	}
	return NULL;
}

static bool has_name_of(const struct json_strs *list, const char *line)
{
	size_t len = strcspn(line, "=") + 1;

	for (size_t i = 0; i < list->len; i++) {
		if (strncmp(list->items[i], line, len) == 0)
			return true;
	}
	return false;
}

void exec_environment(const struct kube_exec *exec, char *const *environment, const char *info,
		      struct json_strs *to)
{
	auto_free char *line = xasprintf("KUBERNETES_EXEC_INFO=%s", info);
	struct json_strs ours = { 0 };

	/* If a name is given twice, the last one counts. KUBERNETES_EXEC_INFO cannot be set by
	 * the kubeconfig. */
	json_strs_add(&ours, line);
	for (size_t i = exec->env.len; i-- > 0;) {
		if (!has_name_of(&ours, exec->env.items[i]))
			json_strs_add(&ours, exec->env.items[i]);
	}
	for (size_t i = 0; environment[i]; i++) {
		if (!has_name_of(&ours, environment[i]))
			json_strs_add(to, environment[i]);
	}
	for (size_t i = 0; i < ours.len; i++)
		json_strs_add(to, ours.items[i]);
	json_strs_done(&ours);
}

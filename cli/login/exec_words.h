/* exec_words: the program, arguments and environment of a kubeconfig's exec. No shell is
 * involved. */
#pragma once

#include "api/json_values.h"

struct kube_exec;

/* The path of @command: itself if it has a slash; otherwise the first executable of that name in
 * the absolute folders of @path (a $PATH; may be NULL). The caller frees; NULL: not found.
 * Programs in the working directory are only run if a path names them. */
char *exec_find(const char *command, const char *path);

/* Append @environment (as environ) to @to, with the variables of @exec and
 * KUBERNETES_EXEC_INFO=@info in place of existing ones of these names. */
void exec_environment(const struct kube_exec *exec, char *const *environment, const char *info,
		      struct json_strs *to);

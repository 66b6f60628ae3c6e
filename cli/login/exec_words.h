/* exec_words: the program, the words and the environment that a kubeconfig's exec is run with. No shell has a
 * part in it. */
#pragma once

#include "api/json_values.h"

struct kube_exec;

/* Where @command is: itself if it has a slash; else the first executable file of that name in the absolute
 * folders of @path (a $PATH; may be NULL), for the caller to free, or NULL. What is in the working directory
 * is not run unless a path leads there. */
char *exec_find(const char *command, const char *path);

/* Append @environment (as environ) to @to, with what @exec sets and KUBERNETES_EXEC_INFO=@info in place of what
 * is there of these names. */
void exec_environment(const struct kube_exec *exec, char *const *environment, const char *info,
		      struct json_strs *to);

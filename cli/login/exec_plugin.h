/*
 * exec_plugin: credentials from the credential plugin of a kubeconfig, as kubectl gets them
 * (users[].user.exec).
 *
 * A kube_provider for programs that a user runs; hostdev's services do not use it. Owns the child
 * process. Its output is limited in size, kept only in memory, and wiped.
 */
#pragma once

#include <stdint.h>

#include "api/json_values.h"

struct kube_exec;
struct exec_plugin;
struct kube_config;
struct kube_provider;
struct uv_loop_s;

enum { EXEC_PLUGIN_PRINTS_MAX = 1 << 20 };

struct exec_plugin_options {
	uint64_t wait_ms;               /* time limit; 0: none */
	void (*tell)(const char *text); /* how to install it if it is missing; or NULL */
	int input;                      /* the descriptor that is our standard input        */
};

/* @config, with an exec, is borrowed; it and @loop outlive the object. */
struct exec_plugin *exec_plugin_new(struct uv_loop_s *loop, const struct kube_config *config,
				    const struct exec_plugin_options *options);

/* Ends a running plugin. The loop must run once more. Takes NULL, returns NULL. */
struct exec_plugin *exec_plugin_free(struct exec_plugin *plugin);

struct kube_provider *exec_plugin_provider(struct exec_plugin *plugin);

/* The path of @command: itself if it has a slash; otherwise the first executable of that name in
 * the absolute folders of @path (a $PATH; may be NULL). The caller frees; NULL: not found.
 * Programs in the working directory are only run if a path names them. */
char *exec_find(const char *command, const char *path);

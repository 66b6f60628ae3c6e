/*
 * exec_plugin: credentials from the program that a kubeconfig names, as kubectl gets them (users[].user.exec).
 *
 * A kube_provider for the client of a program that a person has started; services take no part in this.
 * Owns the child. What it prints is bounded, kept in memory alone, and wiped.
 */
#pragma once

#include <stdint.h>

struct exec_plugin;
struct kube_config;
struct kube_provider;
struct uv_loop_s;

enum { EXEC_PLUGIN_PRINTS_MAX = 1 << 20 };

struct exec_plugin_options {
	uint64_t wait_ms;               /* how long it may run; 0: as long as it likes      */
	void (*tell)(const char *text); /* how to install it, when it is not there; or NULL */
	int input;                      /* the descriptor that is our standard input        */
};

/* @config, with an exec, is borrowed; it and @loop outlive the object. */
struct exec_plugin *exec_plugin_new(struct uv_loop_s *loop, const struct kube_config *config,
				    const struct exec_plugin_options *options);

/* What runs is ended. The loop must run once more. Takes NULL, returns NULL. */
struct exec_plugin *exec_plugin_free(struct exec_plugin *plugin);

struct kube_provider *exec_plugin_provider(struct exec_plugin *plugin);

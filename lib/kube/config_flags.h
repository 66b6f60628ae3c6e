/* config_flags: what a command line says over the configuration that was found. */
#pragma once

struct err;
struct kube_config;
struct kube_config_flags;

/* Put what @flags say in place of what @config has, all of what they are about: another token or certificate
 * takes the place of every other proof, another CA of every other way to judge the server. @config
 * without a server needs one of them. It stays the caller's to release. */
int kube_config_override(struct kube_config *config, const struct kube_config_flags *flags,
			 struct err *err);

/*
 * generics: what the HostDeviceConfig makes of the host's device nodes, sockets and /dev/iommu:
 * resources that many pods share.
 *
 * Owns the three device types, the watch on what they need, and the sockets handed to containers.
 */
#pragma once

struct clock;
struct config;
struct config_troubles;
struct generics;
struct json_pairs;
struct metrics;
struct plugins;
struct uv_loop_s;

/* Borrowed. */
struct generics_deps {
	struct uv_loop_s *loop;
	struct clock *clock;
	const char *helper_path;
	const char *kubelet_dir;
	const char *host_root;   /* NULL: /    */
	const char *dev_root;    /* NULL: /dev */
	const char *sysfs_root;  /* NULL: /sys */
	struct metrics *metrics; /* may be NULL */
	/* Something changed: have generics_offer() called soon. */
	void (*touch)(void *arg);
	/* All that this node cannot carry out of what it was asked for. */
	void (*report)(void *arg, const struct config_troubles *troubles);
	void *arg;
};

struct generics *generics_new(const struct generics_deps *deps);
/* After the plugins. Takes NULL, returns NULL. The loop must run once more. */
struct generics *generics_free(struct generics *generics);

/* What is asked for; borrowed until the next call or the end. Nothing is offered before. */
void generics_set_config(struct generics *generics, const struct config *config);

/* The labels of the node; copied. Until they are known, entries with a nodeSelector wait. */
void generics_set_labels(struct generics *generics, const struct json_pairs *labels);

/* Make what @plugins offer what there is: a lend_type's offer(). */
void generics_offer(void *arg, struct plugins *plugins);

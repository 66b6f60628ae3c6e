/*
 * nvidia_ctk: has NVIDIA's program nvidia-ctk write the CDI file of the GPUs, nvidia.yaml in
 * /var/run/cdi, as the service nvidia-cdi-refresh does.
 *
 * Only if no CDI file describes any of them, so that there is never a second one; a file that was
 * written here is written again when devices are missing in it. Not again for the same devices, nor
 * within NVIDIA_CTK_PAUSE_MS. A run past its deadline is killed. What the program prints is in the
 * log.
 */
#pragma once

#include <stdbool.h>

struct clock;
struct cdi_files;
struct json_strs;
struct nvidia_ctk;
struct uv_loop_s;

enum {
	NVIDIA_CTK_DEADLINE_MS = 60000,
	NVIDIA_CTK_PAUSE_MS = 60000,
};

struct nvidia_ctk_deps {
	struct uv_loop_s *loop;
	struct clock *clock;
	const char *path;      /* of the program                       */
	const char *host_root; /* below which the file is; NULL: /     */
	/* A run has ended: the file may be there, or nvidia_ctk_trouble() is another. */
	void (*ended)(void *arg);
	void *arg;
};

/* What @deps names is borrowed. */
struct nvidia_ctk *nvidia_ctk_new(const struct nvidia_ctk_deps *deps);
/* A run is killed. Takes NULL, returns NULL. The loop must run once more. */
struct nvidia_ctk *nvidia_ctk_free(struct nvidia_ctk *ctk);

/* The CDI files have @files, and containers can get the devices @wanted: have the file written if
 * it is needed. True if a run began. */
bool nvidia_ctk_look(struct nvidia_ctk *ctk, const struct cdi_files *files,
		     const struct json_strs *wanted);

/* Why there is no file yet: a run is under way, or has failed. NULL: neither. Valid until the next
 * look and `ended`. */
const char *nvidia_ctk_trouble(const struct nvidia_ctk *ctk);

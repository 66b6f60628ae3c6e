/*
 * nvidia_ctk: runs NVIDIA's nvidia-ctk to write the CDI file of the GPUs, /var/run/cdi/nvidia.yaml,
 * as the service nvidia-cdi-refresh does.
 *
 * It runs only if no CDI file describes any of the GPUs, so that there is never a second file; a
 * file written here is written again if devices are missing in it. It does not run again for the
 * same devices, or within NVIDIA_CTK_PAUSE_MS. A run past its deadline is killed. The log has the
 * program's output.
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
	/* A run has ended: the file may exist, or nvidia_ctk_trouble() has changed. */
	void (*ended)(void *arg);
	void *arg;
};

/* What @deps names is borrowed. */
struct nvidia_ctk *nvidia_ctk_new(const struct nvidia_ctk_deps *deps);
/* Kills a run. Takes NULL, returns NULL. The loop must run once more. */
struct nvidia_ctk *nvidia_ctk_free(struct nvidia_ctk *ctk);

/* Start a run if @files, the node's CDI files, require it for the devices @wanted. True if a run
 * began. */
bool nvidia_ctk_look(struct nvidia_ctk *ctk, const struct cdi_files *files,
		     const struct json_strs *wanted);

/* Why there is no file yet: a run is in progress, or it has failed. NULL: neither. Valid until the
 * next nvidia_ctk_look() or `ended`. */
const char *nvidia_ctk_trouble(const struct nvidia_ctk *ctk);

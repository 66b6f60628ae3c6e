/*
 * scene: the GPUs that the stand-in for libnvidia-ml.so.1 has, and what happens to them.
 *
 * The environment HOSTDEV_FAKE_NVML names a folder. Its file "scene" is read when the library is
 * initialized for the first time; each process then has a datagram socket <pid>.socket in that
 * folder for more. Both take the same commands, one on each line; "#" begins a comment. GPU is a
 * number, in the order of the scene, or "*" for every one; "-" is the system. A command takes
 * effect before the next call, and also within one that waits or hangs.
 *
 *	driver VERSION			of the kernel module
 *	init CODE			what nvmlInit returns
 *	wait CODE			what nvmlEventSetWait returns; 0: it waits
 *	gpu ADDRESS UUID [KEY=VALUE]... one more GPU: name (with _ for blanks) minor memory (MiB)
 *  compute (80)
 *					mig (0 1 none) events (bits) clique
 *	level GPU GPU LEVEL		topology level of a pair (default 50)
 *	link GPU GPU N			NVLinks between two
 *	switch GPU N			NVLinks to an NVSwitch
 *	mig GPU GI CI UUID PROFILE G C MIB	make a MIG device, with its event; unmig GPU GI CI
 *	error GPU FUNCTION CODE		FUNCTION is a name without "nvml" and suffix, or "*"; CODE 0: no more
 *	hang GPU FUNCTION [SECONDS]	the next calls hang; resume: all go on, and none hang any more.
 *					A process that hangs without an end makes the file <pid>.hangs
 *	lost GPU			all calls on it, and waits for it, return 15
 *	back GPU [UUID]			it is well again, for handles that are taken after a new nvmlInit
 *	remove GPU			not listed any more
 *	move GPU GPU			two change places, in the order of indexes
 *	field GPU VALUE			field 230
 *	persistence GPU 0|1, drain GPU 0|1	persistence mode (default 1), the drain state
 *	xid GPU XID [GI CI]		an event; event GPU BITS DATA [GI CI]
 *	burst GPU FIRST N		N events with Xids from FIRST on
 *	calls FILE			write what was called how often, as lines "FUNCTION N"
 *
 * Persistence mode and the drain state outlive the process, as the driver's do: they are the files
 * <address>.persistence and <address>.drain of the folder, "0" or "1".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/nvml/nvml.h"

struct fake_gpu;

/* What handles of devices point to. */
struct nvml_device {
	struct fake_gpu *gpu;
	struct nvml_gpu_instance *mig; /* NULL: the GPU itself */
};

/* A MIG device, which is also its GPU instance. */
struct nvml_gpu_instance {
	struct nvml_device device;
	bool used;
	unsigned gi;
	unsigned ci;
	unsigned profile; /* the number to ask by */
	unsigned gpu_slices;
	unsigned compute_slices;
	uint64_t memory_mib;
	char uuid[NVML_UUID_SIZE];
};

struct fake_gpu {
	struct nvml_device device;
	char address[NVML_ADDRESS_SIZE];
	char uuid[NVML_UUID_SIZE];
	char name[NVML_TEXT_SIZE];
	unsigned minor;
	unsigned compute;
	uint64_t memory_mib;
	int mig_mode; /* -1: it has none */
	uint64_t events;
	int clique; /* -1: of no fabric */
	uint64_t recovery;
	bool hidden; /* it was in the drain state when the library was initialized */
	bool lost;
	bool removed;
	unsigned stale;      /* handles of this session are of no use; 0: they are  */
	uint64_t registered; /* events in the set                                   */
	unsigned level[NVML_GPUS_MAX];
	int link[NVML_NVLINKS_MAX]; /* the GPU at its other end; -1: a switch */
	unsigned links;
	struct nvml_gpu_instance migs[NVML_MIG_MAX];
};

struct fake_event {
	struct nvml_event event;
	uint64_t left; /* so many more, each with a number one higher */
};

enum { FAKE_EVENTS_MAX = 1024 };

struct scene {
	char driver[NVML_VERSION_SIZE];
	int init_code;
	int wait_code;
	unsigned sessions; /* nvmlInit less nvmlShutdown       */
	unsigned session;  /* counts first calls of nvmlInit   */
	struct fake_gpu *gpus[NVML_GPUS_MAX];
	unsigned order[NVML_GPUS_MAX]; /* index -> GPU */
	unsigned len;
	struct fake_event events[FAKE_EVENTS_MAX];
	size_t events_first;
	size_t events_len;
};

extern struct scene scene;

/*
 * Every function begins with this: takes the lock, does the commands that came, hangs, and returns
 * what the function is to return at once, with the lock released. With NVML_SUCCESS the lock is the
 * caller's to give back. @function as __func__; @device NULL for the system.
 */
int scene_enter(const char *function, const struct nvml_device *device);
int scene_leave(int code);

/* The same of nvmlInit, which reads the scene. */
int scene_begin(const char *function);

/* With the lock: give it back until a command comes, at most so long, and do the commands. */
void scene_wait(int ms);

/* With the lock: a state of the GPU that outlives the process, "persistence" or "drain". */
unsigned scene_state(const struct fake_gpu *gpu, const char *name);
void scene_set_state(const struct fake_gpu *gpu, const char *name, unsigned value);

/* With the lock: the event to come, if there is one. */
bool scene_next_event(struct nvml_event *ret_event);

/*
 * hami_hook: finds HAMi-core on this node and mounts it into containers. HAMi-core is a library
 * that limits what a container uses of a GPU; ld.so.preload loads it into every program of the
 * container. HAMi installs these files. Only the folders for containers are created here.
 *
 *	HOOK/vgpu/libvgpu.so, or libvgpu.so.VERSION
 *	HOOK/vgpu/ld.so.preload		one line: HOOK/vgpu/libvgpu.so
 *	HOOK/vgpu/containers/		one folder per container
 *	HOOK/vgpu/license		and vgpuvalidator, if there is a licence
 */
#pragma once

#include <stdbool.h>

struct allocation;
struct err;

#define HAMI_HOOK "/usr/local"

enum { HAMI_HOOK_MAX = 200 }; /* bytes of the path */

/* Set the first two members before use; zero the others. */
struct hami_hook {
	const char *host_root; /* borrowed; NULL: / */
	const char *path;      /* borrowed: HOOK, for example HAMI_HOOK */
	char *library;         /* its path on the host; NULL: not found */
	bool licensed;
	char *trouble; /* why no container can have HAMi-core; NULL: nothing prevents it */
};

/* Release. */
void hami_hook_done(struct hami_hook *hook);

/* Look for the files. True if anything has changed. */
bool hami_hook_look(struct hami_hook *hook);

/* Create the folder for the container @container of the pod with @uid, and add the mounts that
 * HAMi-core needs. @declines: do not load the library into the container. Errors: HAMi-core is
 * missing, the two names do not make a file name, or a folder cannot be created. */
int hami_hook_add(const struct hami_hook *hook, const char *uid, const char *container,
		  bool declines, struct allocation *allocation, struct err *err);

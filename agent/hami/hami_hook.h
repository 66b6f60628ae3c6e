/*
 * hami_hook: HAMi-core on this node: its library, which limits what a container uses of a GPU, the
 * file that has it loaded into every program of a container, and the folders that its processes
 * share. The node has the files; this only looks for them.
 *
 *	HOOK/vgpu/libvgpu.so, or libvgpu.so.VERSION
 *	HOOK/vgpu/ld.so.preload		one line: HOOK/vgpu/libvgpu.so
 *	HOOK/vgpu/containers/		a folder for each container, made here
 *	HOOK/vgpu/license		and vgpuvalidator, if there is a licence
 */
#pragma once

#include <stdbool.h>

struct allocation;
struct err;

#define HAMI_HOOK "/usr/local"

enum { HAMI_HOOK_MAX = 200 }; /* bytes of the path */

/* Zero, with the two paths. */
struct hami_hook {
	const char *host_root; /* borrowed; NULL: / */
	const char *path;      /* borrowed: HAMI_HOOK */
	char *library;         /* as the host sees it; NULL: there is none */
	bool licensed;
	char *trouble; /* why no container can have HAMi-core; NULL: it can */
};

/* Release. */
void hami_hook_done(struct hami_hook *hook);

/* Look for the files. True if anything is not as before. */
bool hami_hook_look(struct hami_hook *hook);

/* Make the folder for the container @container of the pod with @uid, and add the mounts that HAMi-core
 * needs. @declines: its library is not to be loaded. Both names are plain. Errors: those of the
 * folders. */
int hami_hook_add(const struct hami_hook *hook, const char *uid, const char *container,
		  bool declines, struct allocation *allocation, struct err *err);

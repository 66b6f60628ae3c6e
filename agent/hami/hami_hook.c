#include "agent/hami/hami_hook.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/plugin/device_type.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

#define LIBRARY "libvgpu.so"
#define PRELOAD "ld.so.preload"

enum { PRELOAD_MAX = 4096, NAMES_MAX = 1024, EVERYBODY = 0777 };

void hami_hook_done(struct hami_hook *hook)
{
	free(hook->library);
	free(hook->trouble);
	hook->library = hook->trouble = NULL;
}

/* --- the files -------------------------------------------------------------------------------- */

/* HOOK/vgpu/@name: the path on the host. */
static char *place(const struct hami_hook *hook, const char *name)
{
	return xasprintf("%s/vgpu/%s", hook->path, name);
}

/* The path by which this process reaches the host's @path. */
static char *seen(const struct hami_hook *hook, const char *path)
{
	return xasprintf("%s%s", hook->host_root ? hook->host_root : "", path);
}

static bool is_file(const struct hami_hook *hook, const char *path)
{
	auto_free char *here = seen(hook, path);
	struct stat st;

	return stat(here, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0;
}

/* The newest "libvgpu.so.v2.10.0"; NULL: there is none. */
static char *find_versioned(const struct hami_hook *hook)
{
	auto_free char *folder = place(hook, "");
	auto_free char *here = seen(hook, folder);
	auto_free char *best = NULL;
	const char *name;
	struct dir dir;

	if (dir_open(&dir, AT_FDCWD, here) < 0)
		return NULL;
	for (int i = 0; i < NAMES_MAX && (name = dir_next(&dir)); i++) {
		if (strncmp(name, LIBRARY ".", strlen(LIBRARY ".")) != 0 ||
		    (best && strverscmp(name, best) < 0))
			continue;
		free(best);
		best = xstrdup(name);
	}
	dir_done(&dir);
	return best ? place(hook, best) : NULL;
}

static char *find_library(const struct hami_hook *hook)
{
	auto_free char *plain = place(hook, LIBRARY);
	auto_free char *versioned = NULL;

	if (is_file(hook, plain))
		return take_ptr(plain);
	versioned = find_versioned(hook);
	return versioned && is_file(hook, versioned) ? take_ptr(versioned) : NULL;
}

/* If that file names a library that the container does not have, every program that starts there
 * prints an error. */
static char *preload_trouble(const struct hami_hook *hook)
{
	auto_free char *path = place(hook, PRELOAD);
	auto_free char *here = seen(hook, path);
	auto_free char *library = place(hook, LIBRARY);
	auto_free char *text = NULL;
	struct err err = { 0 };

	if (file_read(AT_FDCWD, here, PRELOAD_MAX, &text, NULL, &err) < 0)
		return xasprintf("HAMi-core is not on the node: %s", err.msg);
	if (strcmp(text, library) != 0)
		return xasprintf("HAMi-core is not on the node: '%s' does not consist of '%s'",
				 path, library);
	return NULL;
}

static char *library_trouble(const struct hami_hook *hook)
{
	if (hook->library)
		return NULL;
	return xasprintf("HAMi-core is not on the node: there is no " LIBRARY " in '%s/vgpu'",
			 hook->path);
}

bool hami_hook_look(struct hami_hook *hook)
{
	struct hami_hook before = *hook;
	auto_free char *license = place(hook, "license");
	auto_free char *here = seen(hook, license);
	bool changed;

	hook->library = find_library(hook);
	hook->trouble = library_trouble(hook);
	if (!hook->trouble)
		hook->trouble = preload_trouble(hook);
	hook->licensed = access(here, F_OK) == 0;
	changed = !str_equal(before.library, hook->library) ||
		  !str_equal(before.trouble, hook->trouble) || before.licensed != hook->licensed;
	hami_hook_done(&before);
	return changed;
}

/* --- the folders ------------------------------------------------------------------------------ */

/* Everybody may write to it: containers run as any user. */
static int make_folder(int dir_fd, const char *name, struct err *err)
{
	auto_close int fd = -1;

	if (mkdirat(dir_fd, name, EVERYBODY) < 0 && errno != EEXIST)
		return err_set(err, ERR_RETRY, -errno, "make the folder '%s': %s", name,
			       strerror(errno));
	fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fchmod(fd, EVERYBODY) < 0)
		return err_set(err, ERR_RETRY, -errno, "open the folder '%s' to everybody: %s",
			       name, strerror(errno));
	return 0;
}

static int make_in(const char *parent, const char *name, struct err *err)
{
	auto_close int fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, ERR_RETRY, -errno, "open '%s': %s", parent, strerror(errno));
	return make_folder(fd, name, err);
}

static int make_folders(const struct hami_hook *hook, const char *name, struct err *err)
{
	auto_free char *vgpu = place(hook, "");
	auto_free char *vgpu_here = seen(hook, vgpu);
	auto_free char *containers_here = xasprintf("%scontainers", vgpu_here);
	auto_free char *tmp = seen(hook, "/tmp");

	if (make_in(tmp, "vgpulock", err) < 0 || make_in(vgpu_here, "containers", err) < 0)
		return err->code;
	return make_in(containers_here, name, err);
}

/* --- for a container -------------------------------------------------------------------------- */

static void add(const struct hami_hook *hook, const char *name, const char *container_path,
		struct allocation *allocation)
{
	auto_free char *path = place(hook, name);

	allocation_add_mount(allocation, container_path, path, true);
}

int hami_hook_add(const struct hami_hook *hook, const char *uid, const char *container,
		  bool declines, struct allocation *allocation, struct err *err)
{
	auto_free char *name = xasprintf("%s_%s", uid, container);
	auto_free char *below = xasprintf("containers/%s", name);
	auto_free char *folder = place(hook, below);
	auto_free char *inside = xasprintf("%s/vgpu", hook->path);
	auto_free char *library = place(hook, LIBRARY);

	if (hook->trouble || !hook->library)
		return err_set(err, ERR_INVALID, -ENOENT, "%s",
			       hook->trouble ? hook->trouble : "HAMi-core has not been looked for");
	if (strchr(name, '/') || strlen(name) > NAME_MAX)
		return err_set(err, ERR_INVALID, -EINVAL, "not a name of a container: '%.64s'",
			       container);
	if (make_folders(hook, name, err) < 0)
		return err->code;
	allocation_add_mount(allocation, inside, folder, false);
	allocation_add_mount(allocation, library, hook->library, true);
	allocation_add_mount(allocation, "/tmp/vgpulock", "/tmp/vgpulock", false);
	if (!declines)
		add(hook, PRELOAD, "/etc/ld.so.preload", allocation);
	if (hook->licensed) {
		add(hook, "license", "/tmp/license", allocation);
		add(hook, "vgpuvalidator", "/usr/bin/vgpuvalidator", allocation);
	}
	return 0;
}

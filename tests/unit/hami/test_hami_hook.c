/* hami_hook: the files of HAMi-core below a made-up host, and what a container gets of them. */
#include "agent/hami/hami_hook.h"

#include <string.h>
#include <sys/stat.h>

#include "agent/plugin/device_type.h"
#include "base/err.h"
#include "base/str.h"
#include "unit/folder.h"
#include "unit/suite.h"

#define PRELOAD "/usr/local/vgpu/libvgpu.so\n"
#define FOLDER  "/usr/local/vgpu/containers/0f8f-1_main>/usr/local/vgpu "
#define LOCK    "/tmp/vgpulock>/tmp/vgpulock "
#define LIBRARY "/usr/local/vgpu/libvgpu.so>/usr/local/vgpu/libvgpu.so:ro "
#define LOADED  "/usr/local/vgpu/ld.so.preload>/etc/ld.so.preload:ro "

struct bench {
	struct folder host;
	struct hami_hook hook;
};

static void open_bench(struct bench *b)
{
	folder_init(&b->host);
	folder_put(&b->host, "usr/none", "");
	folder_put(&b->host, "usr/local/none", "");
	folder_put(&b->host, "tmp/none", "");
	folder_put(&b->host, "usr/local/vgpu/ld.so.preload", PRELOAD);
	b->hook = (struct hami_hook){ .host_root = b->host.path, .path = HAMI_HOOK };
}

static void close_bench(struct bench *b)
{
	hami_hook_done(&b->hook);
	folder_done(&b->host);
}

SUITE_FIXTURE(bench, struct bench, open_bench, close_bench);

/* The mounts, or the error. */
static char *given(const struct bench *b, const char *container, bool declines)
{
	struct allocation allocation = { 0 };
	struct err err = { 0 };
	struct str out = STR_INIT;

	if (hami_hook_add(&b->hook, "0f8f-1", container, declines, &allocation, &err) < 0)
		str_add(&out, err.msg);
	for (size_t i = 0; i < allocation.mounts.len; i++)
		str_addf(&out, "%s>%s%s ", allocation.mounts.items[i].host_path,
			 allocation.mounts.items[i].container_path,
			 allocation.mounts.items[i].read_only ? ":ro" : "");
	allocation_done(&allocation);
	return str_detach(&out);
}

static void gives(const struct bench *b, const char *container, bool declines, const char *text)
{
	auto_free char *out = given(b, container, declines);

	assert_string_equal(out, text);
}

static mode_t mode_of(const struct bench *b, const char *path)
{
	auto_free char *full = folder_path(&b->host, path);
	struct stat st;

	assert_int_equal(stat(full, &st), 0);
	return st.st_mode & 07777;
}

static void a_container_gets_all_of_it(void **state)
{
	struct bench *b = *state;

	folder_put(&b->host, "usr/local/vgpu/libvgpu.so", "ELF");
	assert_true(hami_hook_look(&b->hook));
	assert_null(b->hook.trouble);
	assert_false(hami_hook_look(&b->hook));
	gives(b, "main", false, FOLDER LIBRARY LOCK LOADED);
	assert_int_equal(mode_of(b, "usr/local/vgpu/containers/0f8f-1_main"), 0777);
	assert_int_equal(mode_of(b, "tmp/vgpulock"), 0777);
	/* The same once more. */
	gives(b, "main", false, FOLDER LIBRARY LOCK LOADED);
}

static void one_that_declines_is_not_preloaded(void **state)
{
	struct bench *b = *state;

	folder_put(&b->host, "usr/local/vgpu/libvgpu.so", "ELF");
	hami_hook_look(&b->hook);
	gives(b, "main", true, FOLDER LIBRARY LOCK);
}

static void the_newest_library_counts(void **state)
{
	struct bench *b = *state;

	folder_put(&b->host, "usr/local/vgpu/libvgpu.so.v2.9.0", "ELF");
	folder_put(&b->host, "usr/local/vgpu/libvgpu.so.v2.10.0", "ELF");
	hami_hook_look(&b->hook);
	assert_string_equal(b->hook.library, "/usr/local/vgpu/libvgpu.so.v2.10.0");
	folder_put(&b->host, "usr/local/vgpu/libvgpu.so", "ELF");
	assert_true(hami_hook_look(&b->hook));
	assert_string_equal(b->hook.library, "/usr/local/vgpu/libvgpu.so");
}

static void a_licence_comes_along(void **state)
{
	struct bench *b = *state;

	folder_put(&b->host, "usr/local/vgpu/libvgpu.so", "ELF");
	hami_hook_look(&b->hook);
	folder_put(&b->host, "usr/local/vgpu/license", "x");
	assert_true(hami_hook_look(&b->hook));
	gives(b, "main", false,
	      FOLDER LIBRARY LOCK LOADED
	      "/usr/local/vgpu/license>/tmp/license:ro "
	      "/usr/local/vgpu/vgpuvalidator>/usr/bin/vgpuvalidator:ro ");
}

static void without_a_library_there_is_a_reason(void **state)
{
	struct bench *b = *state;

	assert_true(hami_hook_look(&b->hook));
	assert_string_equal(b->hook.trouble,
			    "HAMi-core is not on the node: there is no libvgpu.so in "
			    "'/usr/local/vgpu'");
	gives(b, "main", false, b->hook.trouble);
	folder_put(&b->host, "usr/local/vgpu/libvgpu.so", ""); /* being copied */
	assert_false(hami_hook_look(&b->hook));
	folder_put(&b->host, "usr/local/vgpu/libvgpu.so", "ELF");
	assert_true(hami_hook_look(&b->hook));
	assert_null(b->hook.trouble);
}

static void a_preload_file_that_names_another_library_is_refused(void **state)
{
	struct bench *b = *state;

	folder_put(&b->host, "usr/local/vgpu/libvgpu.so", "ELF");
	folder_put(&b->host, "usr/local/vgpu/ld.so.preload", "/opt/other.so\n");
	hami_hook_look(&b->hook);
	assert_non_null(strstr(b->hook.trouble, "does not consist of"));
}

static void a_link_in_place_of_a_folder_is_not_followed(void **state)
{
	struct bench *b = *state;
	auto_free char *link = NULL;
	auto_free char *victim = folder_path(&b->host, "victim");
	auto_free char *out = NULL;

	folder_put(&b->host, "usr/local/vgpu/libvgpu.so", "ELF");
	folder_put(&b->host, "victim/file", "");
	folder_put(&b->host, "usr/local/vgpu/containers/none", "");
	hami_hook_look(&b->hook);
	link = folder_path(&b->host, "usr/local/vgpu/containers/0f8f-1_main");
	assert_int_equal(symlink(victim, link), 0);
	assert_int_equal(chmod(victim, 0700), 0);
	out = given(b, "main", false);
	assert_non_null(strstr(out, "open the folder '0f8f-1_main' to everybody"));
	assert_int_equal(mode_of(b, "victim"), 0700);
}

static void a_name_is_no_path(void **state)
{
	struct bench *b = *state;
	auto_free char *out = NULL;

	folder_put(&b->host, "usr/local/vgpu/libvgpu.so", "ELF");
	hami_hook_look(&b->hook);
	out = given(b, "../../x", false);
	assert_non_null(strstr(out, "not a name of a container"));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &bench_fixture);
	suite_add(&suite, "a container gets all of it", a_container_gets_all_of_it, NULL);
	suite_add(&suite, "one that declines is not preloaded", one_that_declines_is_not_preloaded,
		  NULL);
	suite_add(&suite, "the newest library counts", the_newest_library_counts, NULL);
	suite_add(&suite, "a licence comes along", a_licence_comes_along, NULL);
	suite_add(&suite, "without a library there is a reason",
		  without_a_library_there_is_a_reason, NULL);
	suite_add(&suite, "a preload file that names another library is refused",
		  a_preload_file_that_names_another_library_is_refused, NULL);
	suite_add(&suite, "a link in place of a folder is not followed",
		  a_link_in_place_of_a_folder_is_not_followed, NULL);
	suite_add(&suite, "a name is no path", a_name_is_no_path, NULL);
	return suite_run(&suite, "hami_hook");
}

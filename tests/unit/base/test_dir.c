/* dir: real folders, of a few names and of more than one call of the kernel returns. */
#include "base/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "unit/folder.h"

enum { MANY = 1000 }; /* names of nine bytes: thirty kilobytes of entries */

static void names_and_their_types(void **state)
{
	size_t n = 0;
	struct folder *folder = *state;
	const char *name;
	struct dir dir;

	folder_put(folder, "file", "");
	folder_put(folder, ".hidden", "");
	folder_put(folder, "below/file", "");
	assert_int_equal(dir_open(&dir, AT_FDCWD, folder->path), 0);
	for (; (name = dir_next(&dir)) != NULL; n++) {
		bool is_folder = strcmp(name, "below") == 0;

		assert_true(is_folder || strcmp(name, "file") == 0);
		assert_int_equal(dir.type, is_folder ? DT_DIR : DT_REG);
	}
	assert_int_equal(n, 2);
	assert_null(dir_next(&dir));
	assert_int_equal(faccessat(dir.fd, "below/file", F_OK, 0), 0);
	dir_done(&dir);
}

static void every_name_comes_once(void **state)
{
	struct map *seen = map_new();
	struct folder *folder = *state;
	const char *name;
	struct dir dir;

	for (int i = 0; i < MANY; i++) {
		auto_free char *path = xasprintf("number%03d", i);

		folder_put(folder, path, "");
	}
	assert_int_equal(dir_open(&dir, AT_FDCWD, folder->path), 0);
	while ((name = dir_next(&dir)) != NULL)
		assert_null(map_set(seen, name, seen));
	dir_done(&dir);
	assert_int_equal(map_len(seen), MANY);
	map_free(seen);
}

static void only_folders_are_opened(void **state)
{
	struct folder *folder = *state;
	struct dir above;
	struct dir dir;

	folder_put(folder, "file", "");
	assert_int_equal(dir_open(&above, AT_FDCWD, folder->path), 0);
	assert_int_equal(dir_open(&dir, above.fd, "file"), -1);
	assert_int_equal(errno, ENOTDIR);
	assert_int_equal(dir_open(&dir, above.fd, "none"), -1);
	assert_int_equal(errno, ENOENT);
	dir_done(&above);
}

/* Removed while it is read: what is left is no name. */
static void a_folder_may_go(void **state)
{
	struct folder folder;
	struct dir dir;

	folder_init(&folder);
	assert_int_equal(dir_open(&dir, AT_FDCWD, folder.path), 0);
	folder_done(&folder);
	assert_null(dir_next(&dir));
	assert_int_equal(dir.code, -ENOENT);
	dir_done(&dir);
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	return st.st_mode & 0777;
}

static void folders_are_made_with_their_parents(void **state)
{
	struct folder *folder = *state;
	auto_free char *parent = xasprintf("%s/a", folder->path);
	auto_free char *path = xasprintf("%s/b", parent);
	mode_t before = umask(022);
	struct err err = { 0 };
	int fd = -1;

	assert_int_equal(dir_make(path, 0750, &err), 0);
	assert_int_equal(mode_of(parent), 0750);
	assert_int_equal(mode_of(path), 0750);
	assert_int_equal(dir_make(path, 0700, &err), 0);
	assert_int_equal(dir_make_open(path, 0700, &fd, &err), 0);
	close(fd);
	assert_int_equal(mode_of(path), 0750);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(dir_make_open(path, 0700, &fd, &err), 0);
	close(fd);
	assert_int_equal(mode_of(path), 0700);
	umask(before);
}

static void folders_below_a_file_are_not_made(void **state)
{
	struct folder *folder = *state;
	auto_free char *path = xasprintf("%s/file/b", folder->path);
	struct err err = { 0 };
	int fd = -1;

	folder_put(folder, "file", "");
	assert_int_equal(dir_make(path, 0750, &err), -ENOTDIR);
	assert_non_null(strstr(err.msg, path));
	assert_int_equal(dir_make_open(path, 0750, &fd, &err), -ENOTDIR);
	assert_int_equal(err.kind, ERR_RETRY);
	assert_int_equal(fd, -1);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "a folder may go while it is read", a_folder_may_go, NULL);
	suite_fixture(&suite, &folder_fixture);
	suite_add(&suite, "names and their types, without those that begin with a dot",
		  names_and_their_types, NULL);
	suite_add(&suite, "of many names every one comes once", every_name_comes_once, NULL);
	suite_add(&suite, "only folders are opened", only_folders_are_opened, NULL);
	suite_add(&suite, "folders are made with their parents",
		  folders_are_made_with_their_parents, NULL);
	suite_add(&suite, "folders below a file are not made", folders_below_a_file_are_not_made,
		  NULL);
	return suite_run(&suite, "dir");
}

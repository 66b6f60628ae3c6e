/* socket_owner: what is given away is the folder and the socket themselves, never what a link leads
 * to. The owner set is this test's own, so that no rights are needed; that nothing else is touched
 * shows in the error. */
#include "agent/generic/socket_owner.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/err.h"
#include "unit/generic/sockets.h"

static struct owner_case {
	const char *name;
	const char *made[6]; /* "d PATH", "s PATH" a socket, "f PATH" a file, "l TARGET PATH" */
	const char *folder;
	int result;
	const char *message; /* in it */
} rows[] = {
	{ "folder and socket", { "d run/q", "s run/q/x" }, "/run/q", 0, "" },
	{ "a socket that is not there yet is no error",
	  { "d run/q" },
	  "/run/q",
	  SOCKET_ABSENT,
	  "" },
	{ "a folder that is not there yet is one",
	  { "d run" },
	  "/run/q",
	  -ENOENT,
	  "open '/run/q'" },
	{ "/var/run as a link to /run, as it is by custom",
	  { "d run/q", "s run/q/x", "d var", "l ../run var/run" },
	  "/var/run/q",
	  0,
	  "" },
	{ "a socket that is a link",
	  { "d run/q", "s run/y", "l ../y run/q/x" },
	  "/run/q",
	  -ELOOP,
	  "'x' is behind a symbolic link" },
	{ "a folder that is a link",
	  { "d etc", "d run", "l ../etc run/q" },
	  "/run/q",
	  -ELOOP,
	  "'/run/q' is behind a symbolic link" },
	{ "a folder above that is a link",
	  { "d etc/q", "l etc srv" },
	  "/srv/q",
	  -ELOOP,
	  "'/srv/q' is behind a symbolic link" },
	{ "a folder that is a link below /var/run where that is a folder",
	  { "d var/run", "d etc", "l ../../etc var/run/q", "d run/q" },
	  "/var/run/q",
	  -ELOOP,
	  "'/var/run/q' is behind a symbolic link" },
	{ "/var/run as a link to elsewhere",
	  { "d etc/q", "d var", "l ../etc var/run" },
	  "/var/run/q",
	  -ELOOP,
	  "'/var/run/q' is behind a symbolic link" },
	{ "a folder that is a link below /var/run",
	  { "d run", "d etc", "l ../etc run/q", "d var", "l ../run var/run" },
	  "/var/run/q",
	  -ELOOP,
	  "'/var/run/q' is behind a symbolic link" },
	{ "a file in the socket's place",
	  { "d run/q", "f run/q/x" },
	  "/run/q",
	  -ENOTSOCK,
	  "'x' is no socket" },
	{ "a folder in the socket's place",
	  { "d run/q/x" },
	  "/run/q",
	  -ENOTSOCK,
	  "'x' is no socket" },
	{ "a file in the folder's place",
	  { "d run", "f run/q" },
	  "/run/q",
	  -ENOTDIR,
	  "open '/run/q'" },
};

static void make_one(const struct folder *folder, const char *what)
{
	char one[64] = "";
	char other[64] = "";

	assert_true(sscanf(what, "%*c %63s %63s", one, other) >= 1);
	if (what[0] == 'd')
		make_folders(folder, one);
	else if (what[0] == 's')
		make_socket(folder, one);
	else if (what[0] == 'f')
		folder_put(folder, one, "");
	else
		make_link(folder, one, other);
}

static void owner_is_set(void **state)
{
	const struct owner_case *row = suite_row(state);
	const struct socket_owner owner = { .has_owner = true, .uid = getuid(), .gid = getgid() };
	struct err err = { 0 };
	struct folder *folder = *state;

	for (size_t i = 0; i < ARRAY_LEN(row->made) && row->made[i]; i++)
		make_one(folder, row->made[i]);
	assert_int_equal(socket_owner_set(folder->path, row->folder, "x", &owner, &err),
			 row->result);
	if (!strstr(err.msg, row->message))
		fail_msg("'%s' is not in '%s'", row->message, err.msg);
}

/* Whose it is cannot be changed without rights, so that it shows in the error that comes first. */
static void nothing_is_given_away_around_what_is_no_socket(void **state)
{
	static const struct {
		const char *made[3];
		int result;
	} wrong[] = {
		{ { "d run/q", "f run/q/x" }, -ENOTSOCK },
		{ { "d run/q", "d run/q/x" }, -ENOTSOCK },
		{ { "d run/q", "s run/y", "l ../y run/q/x" }, -ELOOP },
	};
	const struct socket_owner owner = { .has_owner = true, .uid = 107, .gid = 107 };

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct err err = { 0 };
		struct folder folder;
		auto_free char *path = NULL;
		struct stat st;

		folder_init(&folder);
		for (size_t m = 0; m < ARRAY_LEN(wrong[i].made) && wrong[i].made[m]; m++)
			make_one(&folder, wrong[i].made[m]);
		path = folder_path(&folder, "run/q");
		assert_int_equal(socket_owner_set(folder.path, "/run/q", "x", &owner, &err),
				 wrong[i].result);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_uid, geteuid());
		folder_done(&folder);
	}
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "the folder of what is no socket is not given away",
		  nothing_is_given_away_around_what_is_no_socket, NULL);
	suite_fixture(&suite, &folder_fixture);
	suite_rows(&suite, rows, owner_is_set);
	return suite_run(&suite, "socket_owner");
}

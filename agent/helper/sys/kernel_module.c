#include "agent/helper/sys/kernel_module.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

enum { COMPLAINT_MAX = 160 };

bool kernel_module_has_driver(int sysfs_fd, const char *driver)
{
	auto_free char *path = xasprintf("bus/pci/drivers/%s", driver);

	return faccessat(sysfs_fd, path, F_OK, 0) == 0;
}

bool kernel_module_has_backend(int sysfs_fd, int dev_fd)
{
	static const char *const signs[] = {
		"module/vfio_iommu_type1",
		"module/vfio_iommu_spapr_tce",
		"class/misc/iommu",
	};

	for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
		if (faccessat(sysfs_fd, signs[i], F_OK, 0) == 0)
			return true;
	}
	return dev_fd >= 0 && faccessat(dev_fd, "iommu", F_OK, 0) == 0;
}

/* Start modprobe with its complaints going to @complaint_fd; 0, or an errno. */
static int start_modprobe(const char *module, int complaint_fd, pid_t *ret_pid)
{
	/* posix_spawn's arguments are not const, but it does not write to them. */
	char *const argv[] = { (char[]){ "modprobe" }, (char[]){ "-b" }, (char[]){ "--" },
			       xstrdup(module), NULL };
	char *const variables[] = { (char[]){ "PATH=/usr/sbin:/usr/bin:/sbin:/bin" }, NULL };
	posix_spawn_file_actions_t actions;
	int r = posix_spawn_file_actions_init(&actions);

	if (r == 0)
		r = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDWR,
						     0);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDOUT_FILENO);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&actions, complaint_fd, STDERR_FILENO);
	if (r == 0)
		r = posix_spawnp(ret_pid, "modprobe", &actions, NULL, argv, variables);
	(void)posix_spawn_file_actions_destroy(&actions);
	free(argv[3]);
	return r;
}

/* The first line of what comes from @fd, up to its end. */
static void read_complaint(int fd, char ret_text[COMPLAINT_MAX])
{
	char rest[COMPLAINT_MAX];
	size_t len = 0;
	ssize_t n;

	while ((n = read(fd, rest, sizeof(rest))) > 0) {
		size_t room = COMPLAINT_MAX - 1 - len;
		size_t part = (size_t)n < room ? (size_t)n : room;

		memcpy(ret_text + len, rest, part);
		len += part;
	}
	ret_text[len] = '\0';
	ret_text[strcspn(ret_text, "\n")] = '\0';
}

int kernel_module_load(const char *module, struct err *err)
{
	char complaint[COMPLAINT_MAX];
	int fds[2];
	pid_t pid = -1;
	int status = 0;
	int r;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_set(err, ERR_RETRY, -errno, "modprobe %s: pipe: %s", module,
			       strerror(errno));
	r = start_modprobe(module, fds[1], &pid);
	close(fds[1]);
	if (r == 0)
		read_complaint(fds[0], complaint);
	close(fds[0]);
	if (r != 0)
		return err_set(err, ERR_RETRY, -r, "modprobe %s: %s; load the module on the host",
			       module, strerror(r));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return err_set(err, ERR_RETRY, -ENOENT, "modprobe %s: %s", module,
		       complaint[0] ? complaint : "it did not succeed and did not say why");
}

#include "agent/helper/command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "agent/helper/drm.h"
#include "agent/helper/frame/run.h"
#include "agent/helper/mdev/mdev_change.h"
#include "agent/helper/scan/scan.h"
#include "agent/helper/sys/devpath.h"
#include "agent/helper/sys/job.h"
#include "agent/helper/sys/kernel.h"
#include "agent/helper/sys/report.h"
#include "agent/helper/sys/sysfs.h"
#include "agent/helper/sys/words.h"
#include "agent/helper/transition/transition.h"
#include "agent/helper/usb/usb_rebind.h"
#include "agent/helper/vf/vf_change.h"
#include "agent/helper/vf/vf_job.h"
#include "agent/helper/vf/vf_link.h"
#include "agent/helper/vgpu.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/num.h"

int command_fail(int status, const struct err *err)
{
	(void)fprintf(stderr, "hostdev-helper: %s\n", err->msg);
	return status;
}

/* Write @report to standard output and release it; returns the exit status. */
static int finish(struct report *report)
{
	struct err err = { 0 };
	int r = report_print(report, STDOUT_FILENO, &err);

	if (r == 0 && report->failure.code < 0)
		err = report->failure;
	report_done(report);
	return err.code < 0 ? command_fail(EXIT_FAILURE, &err) : EXIT_SUCCESS;
}

/* Open the folder @path into *@ret_fd; < 0 with @err set. */
static int open_dir(const char *path, int *ret_fd, struct err *err)
{
	int fd = sysfs_open_dir(AT_FDCWD, path);

	if (fd < 0)
		return err_set(err, ERR_RETRY, -errno, "open '%s': %s", path, strerror(errno));
	*ret_fd = fd;
	return 0;
}

/* What a verb that changes something runs on: the trees, open, and the running kernel. */
struct machine {
	struct kernel kernel;
	struct run_options options;
};

/* Open all trees of @command: unlike a scan, a change needs each of them. machine_close() must
 * follow in any case. */
static int machine_open(const struct command *command, struct machine *machine, struct err *err)
{
	auto_free char *beside = xasprintf("%s/../proc", command->sysfs_root);
	struct run_options *options = &machine->options;

	machine->kernel = kernel_running();
	*options = (struct run_options){
		.sysfs_fd = -1,
		.proc_fd = -1,
		.dev_fd = -1,
		.state_dir = command->state_dir,
		.node_address = command->node_address,
		.kernel = &machine->kernel,
		.out_fd = STDOUT_FILENO,
	};
	if (open_dir(command->sysfs_root, &options->sysfs_fd, err) < 0 ||
	    open_dir(command->proc_root ? command->proc_root : beside, &options->proc_fd, err) <
		    0 ||
	    open_dir(command->dev_root ? command->dev_root : "/dev", &options->dev_fd, err) < 0)
		return err->code;
	return 0;
}

static void machine_close(struct machine *machine)
{
	const int fds[] = { machine->options.sysfs_fd, machine->options.proc_fd,
			    machine->options.dev_fd };

	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
}

#define auto_machine __attribute__((cleanup(machine_close)))

int command_scan(const struct command *command, const char *verb, char **args)
{
	auto_free char *beside = xasprintf("%s/../proc", command->sysfs_root);
	const char *proc_root = command->proc_root ? command->proc_root : beside;
	auto_close int sysfs_fd = -1;
	auto_close int proc_fd = -1;
	auto_close int dev_fd = -1;
	auto_close int state_fd = -1;
	struct report report = { 0 };
	struct err err = { 0 };

	if (args[0]) {
		(void)err_set(&err, ERR_INVALID, -EINVAL, "%s takes no argument '%s'", verb,
			      args[0]);
		return command_fail(COMMAND_USAGE, &err);
	}
	if (open_dir(command->sysfs_root, &sysfs_fd, &err) < 0)
		return command_fail(EXIT_FAILURE, &err);
	if (open_dir(proc_root, &proc_fd, &err) < 0 && command->proc_root)
		return command_fail(EXIT_FAILURE, &err);
	if (open_dir(command->dev_root ? command->dev_root : "/dev", &dev_fd, &err) < 0 &&
	    command->dev_root)
		return command_fail(EXIT_FAILURE, &err);
	/* Before the first claim there is no state directory. */
	if (command->state_dir && open_dir(command->state_dir, &state_fd, &err) < 0 &&
	    err.code != -ENOENT)
		return command_fail(EXIT_FAILURE, &err);
	scan_run(&(struct scan_options){ sysfs_fd, proc_fd, dev_fd, state_fd,
					 command->node_address },
		 &report);
	return finish(&report);
}

/* Open the character device @path once. EBUSY is no error: the driver is loaded. */
static int open_node(const char *path, struct err *err)
{
	auto_close int node = open(path, O_PATH | O_CLOEXEC);
	auto_free char *again = NULL;
	auto_close int fd = -1;
	struct stat st;

	if (node < 0)
		return err_set(err, ERR_RETRY, -errno, "%s", strerror(errno));
	/* What is no device, a FIFO above all, is not opened. */
	if (fstat(node, &st) < 0 || !S_ISCHR(st.st_mode))
		return err_set(err, ERR_INVALID, -ENODEV, "it is no character device");
	again = xasprintf("/proc/self/fd/%d", node);
	fd = open(again, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 && errno != EBUSY)
		return err_set(err, ERR_RETRY, -errno, "%s", strerror(errno));
	return 0;
}

int command_open_node(const struct command *command, const char *verb, char **args)
{
	static const char dev[] = "/dev/";
	struct report report = { 0 };
	struct err err = { 0 };
	auto_free char *path = NULL;

	if (!args[0] || args[1] || strncmp(args[0], dev, strlen(dev)) != 0) {
		(void)err_set(&err, ERR_INVALID, -EINVAL, "%s takes one path below /dev", verb);
		return command_fail(COMMAND_USAGE, &err);
	}
	path = xasprintf("%s/%s", command->dev_root ? command->dev_root : "/dev",
			 args[0] + strlen(dev));
	report_open(&report.lines, "end");
	json_write_str(&report.lines, "path", args[0]);
	if (open_node(path, &err) < 0) {
		json_write_str(&report.lines, "result", "Failed");
		json_write_str(&report.lines, "message", err.msg);
	} else {
		json_write_str(&report.lines, "result", "Done");
	}
	report_close(&report.lines);
	return finish(&report);
}

/* clang-format off */
static const char *const verb_names[] = {
	[TRANSITION_BIND]         = "bind",
	[TRANSITION_RELEASE]      = "release",
	[TRANSITION_PLAN_BIND]    = "plan-bind",
	[TRANSITION_PLAN_RELEASE] = "plan-release",
};
/* clang-format on */

static enum transition_verb find_verb(const char *name)
{
	size_t i = 0;

	while (i + 1 < ARRAY_LEN(verb_names) && strcmp(verb_names[i], name) != 0)
		i++;
	return (enum transition_verb)i;
}

static int read_cancel_fd(const struct command *command, int *ret_fd, struct err *err)
{
	uint64_t fd = 0;

	if (!command->cancel_fd)
		return 0;
	if (!str_to_u64(command->cancel_fd, &fd) || fd > INT_MAX)
		return err_set(err, ERR_INVALID, -EINVAL, "--cancel-fd '%s' is no descriptor",
			       command->cancel_fd);
	*ret_fd = (int)fd;
	return 0;
}

static int run_transition(const struct command *command, const char *verb, const struct job *job,
			  struct err *err)
{
	auto_machine struct machine machine;
	int cancel_fd = -1;

	if (machine_open(command, &machine, err) < 0 ||
	    read_cancel_fd(command, &cancel_fd, err) < 0)
		return err->code;
	return transition_run(find_verb(verb), &machine.options, cancel_fd, job, err);
}

static int read_transition(const struct command *command, const char *verb, char **args,
			   struct job *ret_job, struct err *err)
{
	if (!command->group || !command->state_dir)
		return err_set(err, ERR_INVALID, -EINVAL, "%s needs --group and --state-dir", verb);
	if (!args[0])
		return err_set(err, ERR_INVALID, -EINVAL,
			       "%s needs the functions, beginning with address=", verb);
	return job_parse(command->group, args, ret_job, err);
}

int command_transition(const struct command *command, const char *verb, char **args)
{
	struct job job = { 0 };
	struct err err = { 0 };
	int r;

	if (read_transition(command, verb, args, &job, &err) < 0)
		return command_fail(COMMAND_USAGE, &err);
	r = run_transition(command, verb, &job, &err);
	job_done(&job);
	return r < 0 ? command_fail(EXIT_FAILURE, &err) : EXIT_SUCCESS;
}

static int run_mdev(const struct command *command, bool create, const struct mdev_job *job,
		    struct err *err)
{
	auto_machine struct machine machine;

	if (machine_open(command, &machine, err) < 0)
		return err->code;
	return create ? mdev_create(&machine.options, job, err)
		      : mdev_remove(&machine.options, job, err);
}

static int read_mdev(const struct command *command, const char *verb, bool create, char **args,
		     struct mdev_job *ret_job, struct err *err)
{
	if (!command->state_dir)
		return err_set(err, ERR_INVALID, -EINVAL, "%s needs --state-dir", verb);
	if (mdev_job_parse(args, ret_job, err) < 0)
		return -EINVAL;
	if (!create || ret_job->type)
		return 0;
	return err_set(err, ERR_INVALID, -EINVAL, "a word 'type=' is needed");
}

int command_mdev(const struct command *command, const char *verb, char **args)
{
	bool create = strcmp(verb, "mdev-create") == 0;
	struct mdev_job job = { 0 };
	struct err err = { 0 };
	int r = read_mdev(command, verb, create, args, &job, &err);

	if (r < 0) {
		mdev_job_done(&job);
		return command_fail(COMMAND_USAGE, &err);
	}
	r = run_mdev(command, create, &job, &err);
	mdev_job_done(&job);
	return r < 0 ? command_fail(EXIT_FAILURE, &err) : EXIT_SUCCESS;
}

/* The network interfaces are those of the running kernel, also for another tree. */
static bool is_sysfs(int sysfs_fd)
{
	struct statfs fs;

	return fstatfs(sysfs_fd, &fs) == 0 && fs.f_type == SYSFS_MAGIC;
}

static int run_vfs(const struct command *command, const struct vf_job *job, struct err *err)
{
	auto_machine struct machine machine;
	struct vf_links links = vf_links_running();

	if (machine_open(command, &machine, err) < 0)
		return err->code;
	return vf_change_run(&machine.options, is_sysfs(machine.options.sysfs_fd) ? &links : NULL,
			     job, err);
}

int command_vfs(const struct command *command, const char *verb, char **args)
{
	struct vf_job job = { 0 };
	struct err err = { 0 };
	int r;

	if (!command->state_dir)
		r = err_set(&err, ERR_INVALID, -EINVAL, "%s needs --state-dir", verb);
	else
		r = vf_job_parse(args, &job, &err);
	if (r < 0)
		return command_fail(COMMAND_USAGE, &err);
	r = run_vfs(command, &job, &err);
	vf_job_done(&job);
	return r < 0 ? command_fail(EXIT_FAILURE, &err) : EXIT_SUCCESS;
}

static int check_address(const char *word, struct err *err)
{
	if (pci_address_valid(word, strlen(word)))
		return 0;
	return err_set(err, ERR_INVALID, -EINVAL, "'%s' is no PCI address", word);
}

int command_vgpu_look(const struct command *command, const char *verb, char **args)
{
	auto_close int sysfs_fd = -1;
	struct report report = { 0 };
	struct err err = { 0 };

	if (!args[0]) {
		(void)err_set(&err, ERR_INVALID, -EINVAL, "%s needs addresses", verb);
		return command_fail(COMMAND_USAGE, &err);
	}
	for (size_t i = 0; args[i]; i++) {
		if (check_address(args[i], &err) < 0)
			return command_fail(COMMAND_USAGE, &err);
	}
	if (open_dir(command->sysfs_root, &sysfs_fd, &err) < 0)
		return command_fail(EXIT_FAILURE, &err);
	for (size_t i = 0; args[i]; i++)
		vgpu_write_line(sysfs_fd, args[i], &report);
	return finish(&report);
}

int command_drm_look(const struct command *command, const char *verb, char **args)
{
	auto_close int sysfs_fd = -1;
	struct report report = { 0 };
	struct err err = { 0 };

	if (args[0]) {
		(void)err_set(&err, ERR_INVALID, -EINVAL, "%s takes no words", verb);
		return command_fail(COMMAND_USAGE, &err);
	}
	if (open_dir(command->sysfs_root, &sysfs_fd, &err) < 0)
		return command_fail(EXIT_FAILURE, &err);
	drm_write_lines(sysfs_fd, &report);
	return finish(&report);
}

/* What vgpu-set is asked for. The texts are the words'. */
struct vgpu_words {
	const char *address;
	const char *type;
};

static bool is_vgpu_type(const char *text, size_t len)
{
	return text[len] == '\0' && vgpu_type_check(text);
}

/* clang-format off */
static const struct word_row vgpu_rows[] = {
	{ "address", WORD_NEEDED, offsetof(struct vgpu_words, address), pci_address_valid,
	  .form = "a PCI address such as 0000:01:00.0" },
	{ "type",    WORD_NEEDED, offsetof(struct vgpu_words, type),    is_vgpu_type,
	  .form = "the number of a vGPU type, or 0" },
};
/* clang-format on */

static int read_vgpu(const struct command *command, const char *verb, char **args,
		     struct vgpu_words *ret_words, struct err *err)
{
	static const struct words_table table = { .rows = vgpu_rows, .len = ARRAY_LEN(vgpu_rows) };

	if (!command->state_dir)
		return err_set(err, ERR_INVALID, -EINVAL, "%s needs --state-dir", verb);
	return words_parse(&table, args, ret_words, err);
}

static int run_vgpu(const struct command *command, const struct vgpu_words *words, struct err *err)
{
	auto_machine struct machine machine;

	if (machine_open(command, &machine, err) < 0)
		return err->code;
	return vgpu_set(&machine.options, words->address, words->type, err);
}

int command_vgpu_set(const struct command *command, const char *verb, char **args)
{
	struct vgpu_words words = { 0 };
	struct err err = { 0 };

	if (read_vgpu(command, verb, args, &words, &err) < 0)
		return command_fail(COMMAND_USAGE, &err);
	return run_vgpu(command, &words, &err) < 0 ? command_fail(EXIT_FAILURE, &err)
						   : EXIT_SUCCESS;
}

static int run_usb_rebind(const struct command *command, const struct usb_rebind_job *job,
			  struct err *err)
{
	auto_machine struct machine machine;

	if (machine_open(command, &machine, err) < 0)
		return err->code;
	return usb_rebind(&machine.options, job, err);
}

int command_usb_rebind(const struct command *command, const char *verb, char **args)
{
	struct usb_rebind_job job = { 0 };
	struct err err = { 0 };
	int r;

	if (!command->state_dir)
		r = err_set(&err, ERR_INVALID, -EINVAL, "%s needs --state-dir", verb);
	else
		r = usb_rebind_job_parse(args, &job, &err);
	if (r < 0)
		return command_fail(COMMAND_USAGE, &err);
	return run_usb_rebind(command, &job, &err) < 0 ? command_fail(EXIT_FAILURE, &err)
						       : EXIT_SUCCESS;
}

/*
 * vf_machine: a tree with a network card that can make seven virtual functions, a kernel that makes
 * and removes them when sriov_numvfs is written, and a card that keeps their settings.
 */
#pragma once

#include <errno.h>
#include <sys/file.h>

#include "agent/helper/frame/run.h"
#include "agent/helper/sys/kernel.h"
#include "agent/helper/vf/vf_change.h"
#include "agent/helper/vf/vf_job.h"
#include "agent/helper/vf/vf_link.h"
#include "base/array.h"
#include "base/err.h"
#include "base/num.h"
#include "base/str.h"
#include "fake/tree/scan_tree.h"

#define VF_PF  "0000:03:00.0"
#define VF_DIR "sys/bus/pci/devices/" VF_PF "/"

enum { VF_MACHINE_TOTAL = 7, VF_MACHINE_NO_EFFECT = 1 };

struct vf_machine {
	struct tree tree;
	struct kernel kernel;
	struct vf_links links;
	struct vf_settings settings; /* of the card: gone with the virtual functions */
	struct str log;              /* what was written, in order                   */
	int count;
	int writes;
	int fault_at;   /* the write that fails, of either kind; 0: none */
	int fault;      /* -errno, or VF_MACHINE_NO_EFFECT               */
	int read_fault; /* -errno of reading the settings, or 0        */
	int crash_at;   /* the power goes before this write              */
	bool no_links;
	bool one_group; /* the virtual functions are in the card's */
};

static inline void vf_machine_add(struct vf_machine *m, int index)
{
	auto_free char *base = xasprintf("sys/bus/pci/devices/0000:03:10.%d", index);
	static const char *const files[] = { "vendor=0x8086\n", "device=0x10ca\n" };
	auto_free char *link = xasprintf(VF_DIR "virtfn%d->../0000:03:10.%d", index, index);
	auto_free char *group = xasprintf("%s/iommu_group->../../../../kernel/iommu_groups/%d",
					  base, m->one_group ? 20 : 30 + index);

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		auto_free char *entry = xasprintf("%s/%s", base, files[i]);

		tree_add(&m->tree, entry);
	}
	tree_add(&m->tree, link);
	tree_add(&m->tree, group);
	*vf_settings_add(&m->settings, index) =
		(struct vf_setting){ .index = index, .mac = "00:00:00:00:00:00", .spoof_check = 1 };
}

static inline void vf_machine_remove(struct vf_machine *m, int index)
{
	static const char *const names[] = { "/vendor", "/device", "/iommu_group", "" };
	auto_free char *link = xasprintf(VF_DIR "virtfn%d", index);

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		auto_free char *path =
			xasprintf("sys/bus/pci/devices/0000:03:10.%d%s", index, names[i]);

		assert_int_equal(unlinkat(m->tree.fd, path, names[i][0] ? 0 : AT_REMOVEDIR), 0);
	}
	assert_int_equal(unlinkat(m->tree.fd, link, 0), 0);
}

static inline int vf_machine_set(struct vf_machine *m, int count)
{
	if (count > VF_MACHINE_TOTAL)
		return -ERANGE;
	if (m->count > 0 && count > 0)
		return -EBUSY;
	for (; m->count < count; m->count++)
		vf_machine_add(m, m->count);
	for (; m->count > count; m->count--)
		vf_machine_remove(m, m->count - 1);
	if (count == 0)
		vf_settings_done(&m->settings);
	return 0;
}

/* 0: the write is to do what it should; else what it comes to. */
static inline bool vf_machine_faults(struct vf_machine *m, int *ret_code)
{
	int n = ++m->writes;

	if (n == m->crash_at)
		_exit(0);
	*ret_code = m->fault == VF_MACHINE_NO_EFFECT ? 0 : m->fault;
	return n == m->fault_at;
}

static inline int vf_machine_write(void *arg, int sysfs_fd, const char *path, const char *text)
{
	static const char dir[] = "bus/pci/devices/" VF_PF "/";
	struct vf_machine *m = arg;
	auto_free char *entry = NULL;
	uint64_t number = 0;
	int code;

	assert_true(sysfs_fd >= 0 && strncmp(path, dir, sizeof(dir) - 1) == 0);
	path += sizeof(dir) - 1;
	str_addf(&m->log, "%s%s=%s", m->log.len ? " " : "", path + strlen("sriov_"), text);
	if (vf_machine_faults(m, &code))
		return code;
	assert_true(str_to_u64(text, &number));
	if (strcmp(path, "sriov_numvfs") == 0)
		return vf_machine_set(m, (int)number);
	assert_string_equal(path, "sriov_drivers_autoprobe");
	entry = xasprintf(VF_DIR "%s=%s\n", path, text);
	tree_add(&m->tree, entry);
	return 0;
}

static inline int vf_machine_read_settings(void *arg, const struct vf_link *link,
					   struct vf_settings *ret_settings, struct err *err)
{
	struct vf_machine *m = arg;

	assert_string_equal(link->interface, "eth1");
	assert_int_equal(link->ifindex, 5);
	if (m->read_fault)
		return err_set(err, ERR_RETRY, m->read_fault, "read 'eth1' by rtnetlink: %s",
			       strerror(-m->read_fault));
	for (size_t i = 0; i < m->settings.len; i++)
		*vf_settings_add(ret_settings, 0) = m->settings.items[i];
	return 0;
}

static inline int vf_machine_write_setting(void *arg, const struct vf_link *link,
					   const struct vf_setting *want, enum vf_field field,
					   struct err *err)
{
	struct vf_machine *m = arg;
	struct vf_setting *has = &m->settings.items[want->index];
	int code;

	assert_int_equal(link->ifindex, 5);
	str_addf(&m->log, "%svf%d:%s", m->log.len ? " " : "", want->index, vf_field_text(field));
	if (vf_machine_faults(m, &code))
		return code ? err_set(err, ERR_RETRY, code, "change 'eth1' by rtnetlink: %s",
				      strerror(-code))
			    : 0;
	if (field == VF_FIELD_MAC)
		memcpy(has->mac, want->mac, sizeof(has->mac));
	if (field == VF_FIELD_VLAN) {
		has->vlan = want->vlan;
		has->qos = want->qos < 0 ? 0 : want->qos;
	}
	if (field == VF_FIELD_TRUST)
		has->trust = want->trust;
	if (field == VF_FIELD_SPOOF_CHECK)
		has->spoof_check = want->spoof_check;
	return 0;
}

static inline void vf_machine_init(struct vf_machine *m, int count)
{
	static const char *const entries[] = {
		VF_DIR "vendor=0x8086\n",
		VF_DIR "device=0x10c9\n",
		VF_DIR "sriov_totalvfs=7\n",
		VF_DIR "sriov_drivers_autoprobe=1\n",
		VF_DIR "net/eth1/ifindex=5\n",
		VF_DIR "iommu_group->../../../../kernel/iommu_groups/20",
		"proc/sys/kernel/random/boot_id=b00t\n",
		PROC_WHOLE,
		SYS_LOOPBACK,
		"dev/",
		"state/",
		NULL,
	};

	*m = (struct vf_machine){ .kernel = { .write = vf_machine_write, .arg = m } };
	m->links = (struct vf_links){ vf_machine_read_settings, vf_machine_write_setting, true, m };
	tree_make(&m->tree, entries);
	assert_int_equal(vf_machine_set(m, count), 0);
}

static inline void vf_machine_done(struct vf_machine *m)
{
	vf_settings_done(&m->settings);
	str_done(&m->log);
	tree_done(&m->tree);
}

SUITE_CLOSING(vf_machine, struct vf_machine, vf_machine_done);

/* Run the verb with the words @text; the last line that it says, with single quotes and without
 * times, is appended to @ret_end. */
static inline void vf_machine_run(struct vf_machine *m, const char *text, struct str *ret_end)
{
	auto_free char *copy = xstrdup(text);
	auto_free char *state_dir = xasprintf("%s/state", m->tree.root);
	auto_close int sysfs_fd = tree_open(&m->tree, "sys");
	auto_close int proc_fd = tree_open(&m->tree, "proc");
	auto_close int dev_fd = tree_open(&m->tree, "dev");
	auto_close int out_fd =
		openat(m->tree.fd, "out", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct run_options options = {
		.sysfs_fd = sysfs_fd,
		.proc_fd = proc_fd,
		.dev_fd = dev_fd,
		.state_dir = state_dir,
		.kernel = &m->kernel,
		.out_fd = out_fd,
	};
	auto_free char *lines = xcalloc(1, 65536);
	char *words[64] = { NULL };
	struct vf_job job = { 0 };
	struct err err = { 0 };
	char *rest = copy;
	char *end;

	for (size_t i = 0; i + 1 < ARRAY_LEN(words) && rest; i++)
		words[i] = strsep(&rest, " ");
	assert_int_equal(vf_job_parse(words, &job, &err), 0);
	assert_int_equal(vf_change_run(&options, m->no_links ? NULL : &m->links, &job, &err), 0);
	vf_job_done(&job);
	assert_true(pread(out_fd, lines, 65535, 0) > 0);
	end = strstr(lines, "{\"kind\":\"end\",\"result\":");
	assert_non_null(end);
	*strstr(end, ",\"kernelMicros\"") = '\0';
	str_add(ret_end, end + strlen("{\"kind\":\"end\",\"result\":"));
	single_quotes(ret_end);
}

/* Is autoprobe on, and is there a record that it has to be put back: "on", "off", "off
 * recorded". */
static inline const char *vf_machine_autoprobe(struct vf_machine *m)
{
	auto_close int fd =
		openat(m->tree.fd, VF_DIR "sriov_drivers_autoprobe", O_RDONLY | O_CLOEXEC);
	bool recorded = faccessat(m->tree.fd, "state/autoprobe/" VF_PF, F_OK, 0) == 0;
	char c = '?';

	assert_int_equal(read(fd, &c, 1), 1);
	if (c == '1')
		return recorded ? "on recorded" : "on";
	return recorded ? "off recorded" : "off";
}

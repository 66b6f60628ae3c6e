/*
 * mdev_machine: a tree with a device that can be divided, and a kernel that creates and removes
 * instances in it at each write; it can fail, do nothing, or lose power at any write.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/helper/frame/run.h"
#include "agent/helper/mdev/mdev_change.h"
#include "agent/helper/sys/kernel.h"
#include "base/err.h"
#include "base/str.h"
#include "fake/tree/scan_tree.h"

#define U1 "11111111-2222-3333-4444-555555555551"
#define U2 "11111111-2222-3333-4444-555555555552"
#define U3 "11111111-2222-3333-4444-555555555553"

/* For the verbs; " uuid=" and more may follow. */
#define CREATE "parent=mtty type=mtty-2 owner=types uuid=" U1
#define REMOVE "parent=mtty owner=types uuid=" U1

#define RECORD(uuid, type, owner, boot)                                                         \
	"state/mdevs/" uuid ".json={\"uuid\":\"" uuid "\",\"parent\":\"mtty\",\"type\":\"" type \
	"\",\"owner\":\"" owner "\",\"boot\":\"" boot "\"}\n"
#define OURS(uuid) RECORD(uuid, "mtty-2", "types", "b00t")
#define INSTANCE(uuid, type)                                                                       \
	"sys/bus/mdev/devices/" uuid "->../../../devices/virtual/mtty/mtty/" uuid,                 \
		"sys/devices/virtual/mtty/mtty/" uuid "/mdev_type->../mdev_supported_types/" type, \
		"sys/devices/virtual/mtty/mtty/" uuid "/remove=\n"

enum { NO_EFFECT = 1, ERROR_ONLY = 1000 };

struct machine {
	struct tree tree;
	int writes;
	int fault_at; /* the write that fails; 0: none */
	int fault;    /* -errno, NO_EFFECT, or ERROR_ONLY: EIO, though it does what it should */
	int crash_at; /* the power goes before this write */
};

static inline void make_instance(struct machine *m, const char *uuid, const char *type)
{
	auto_free char *link = xasprintf(
		"sys/bus/mdev/devices/%s->../../../devices/virtual/mtty/mtty/%s", uuid, uuid);
	auto_free char *kind = xasprintf("sys/devices/virtual/mtty/mtty/%s/mdev_type->"
					 "../mdev_supported_types/%s",
					 uuid, type);
	auto_free char *remove = xasprintf("sys/devices/virtual/mtty/mtty/%s/remove=", uuid);

	tree_add(&m->tree, link);
	tree_add(&m->tree, kind);
	tree_add(&m->tree, remove);
}

/* As when it is removed, or when the power goes. */
static inline void lose_instance(const struct machine *m, const char *uuid)
{
	auto_free char *link = xasprintf("sys/bus/mdev/devices/%s", uuid);
	auto_free char *kind = xasprintf("sys/devices/virtual/mtty/mtty/%s/mdev_type", uuid);

	assert_int_equal(unlinkat(m->tree.fd, link, 0), 0);
	assert_int_equal(unlinkat(m->tree.fd, kind, 0), 0);
}

static inline bool has(const struct machine *m, const char *fmt, const char *uuid)
{
	auto_free char *path = xasprintf("%s%s%s", fmt, uuid, fmt[1] == 't' ? ".json" : "");

	return faccessat(m->tree.fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static inline void take_effect(struct machine *m, const char *path, const char *text)
{
	static const char devices[] = "bus/mdev/devices/";
	auto_free char *type = NULL;
	auto_free char *uuid = NULL;

	if (strncmp(path, devices, sizeof(devices) - 1) == 0) {
		path += sizeof(devices) - 1;
		uuid = xstrndup(path, strcspn(path, "/"));
		assert_string_equal(text, "1");
		lose_instance(m, uuid);
		return;
	}
	type = xstrndup(path, (size_t)(strrchr(path, '/') - path));
	/* What is made has its record, on the disk. */
	assert_true(has(m, "state/mdevs/", text));
	make_instance(m, text, strrchr(type, '/') + 1);
}

static inline int write_attribute(void *arg, int sysfs_fd, const char *path, const char *text)
{
	struct machine *m = arg;
	int n = ++m->writes;

	(void)sysfs_fd;
	if (n == m->crash_at)
		_exit(0);
	if (n != m->fault_at || m->fault == ERROR_ONLY)
		take_effect(m, path, text);
	if (n != m->fault_at || m->fault == NO_EFFECT)
		return 0;
	return m->fault == ERROR_ONLY ? -EIO : m->fault;
}

static inline void machine_init(struct machine *m, const char *const *entries)
{
	static const char *const base[] = {
		"proc/sys/kernel/random/boot_id=b00t\n",
		"dev/vfio/",
		"sys/class/mdev_bus/mtty->../../devices/virtual/mtty/mtty",
		"sys/devices/virtual/mtty/mtty/mdev_supported_types/mtty-1/create=",
		"sys/devices/virtual/mtty/mtty/mdev_supported_types/mtty-2/create=",
		"sys/bus/mdev/devices/",
		NULL,
	};

	*m = (struct machine){ 0 };
	tree_make(&m->tree, base);
	for (; entries && *entries; entries++)
		tree_add(&m->tree, *entries);
}

/* What the verb says, with single quotes and without times. The caller frees. */
static inline char *machine_run(struct machine *m, const char *text)
{
	auto_free char *copy = xstrdup(text);
	auto_free char *state_dir = xasprintf("%s/state", m->tree.root);
	auto_close int sysfs_fd = tree_open(&m->tree, "sys");
	auto_close int proc_fd = tree_open(&m->tree, "proc");
	auto_close int dev_fd = tree_open(&m->tree, "dev");
	auto_close int out_fd =
		openat(m->tree.fd, "out", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct kernel kernel = { .write = write_attribute, .arg = m };
	struct run_options options = {
		sysfs_fd, proc_fd, dev_fd, state_dir, NULL, &kernel, out_fd
	};
	static char lines[65536];
	char *words[64] = { NULL };
	char *rest = copy;
	struct mdev_job job = { 0 };
	struct str out = STR_INIT;
	struct err err = { 0 };
	char *times;

	for (size_t i = 0; i + 1 < ARRAY_LEN(words) && rest; i++)
		words[i] = strsep(&rest, " ");
	assert_int_equal(mdev_job_parse(words, &job, &err), 0);
	assert_int_equal((job.type ? mdev_create : mdev_remove)(&options, &job, &err), 0);
	mdev_job_done(&job);
	memset(lines, 0, sizeof(lines));
	assert_true(pread(out_fd, lines, sizeof(lines) - 1, 0) > 0);
	times = strstr(lines, ",\"micros\"");
	assert_non_null(times);
	*times = '\0';
	str_addf(&out, "%s}\n", lines);
	single_quotes(&out);
	return str_detach(&out);
}

/* What there is: "i" the instance, "r" its record, for U1, U2 and U3. */
static inline void assert_leaves(const struct machine *m, const char *expected)
{
	static const char *const uuids[] = { U1, U2, U3 };
	auto_str struct str text = STR_INIT;

	for (size_t i = 0; i < ARRAY_LEN(uuids); i++) {
		bool instance = has(m, "sys/bus/mdev/devices/", uuids[i]);
		bool record = has(m, "state/mdevs/", uuids[i]);

		str_addf(&text, "%s%s%s%s", i ? " " : "", instance ? "i" : "", record ? "r" : "",
			 instance || record ? "" : "-");
	}
	assert_string_equal(str_cstr(&text), expected);
}

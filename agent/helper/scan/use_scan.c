#include "agent/helper/scan/use_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/helper/scan/block.h"
#include "agent/helper/scan/netlinks.h"
#include "agent/helper/scan/pci_scan.h"
#include "agent/helper/scan/scan.h"
#include "agent/helper/sys/report.h"
#include "agent/helper/sys/sysfs.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"

enum { PROC_FILE_MAX = 16 << 20 };

/*
 * Process 1 is the host's, seen from the host's process namespace or through a mounted /proc of it;
 * without the right to look at it the helper's own view is the next best.
 */
static char *read_proc(const struct use_look *look, int proc_fd, const char *const paths[2],
		       size_t *ret_len)
{
	struct err err = { 0 };
	char *text = NULL;

	*ret_len = 0;
	if (proc_fd < 0)
		return NULL;
	for (int i = 0; i < 2; i++) {
		if (file_read(proc_fd, paths[i], PROC_FILE_MAX, &text, ret_len, &err) == 0)
			return text;
	}
	if (err.code != -ENOENT)
		report_problem(look->report, "", paths[1], "%s", err.msg);
	return NULL;
}

static void read_mounts(struct use_look *look, int proc_fd)
{
	static const char *const paths[] = { "1/mountinfo", "self/mountinfo" };
	size_t len;
	auto_free char *text = read_proc(look, proc_fd, paths, &len);
	size_t bad = text ? mounts_parse(text, len, &look->mounts) : 0;

	if (bad > 0)
		report_problem(look->report, "", "mountinfo", "%zu lines have another form", bad);
	if (proc_fd >= 0 && look->mounts.len == 0)
		report_problem(look->report, "", "mountinfo",
			       "no mounts can be read, so the host's disks are not known as such");
}

static void read_swaps(struct use_look *look, int proc_fd)
{
	static const char *const paths[] = { "swaps", "swaps" };
	size_t len;
	auto_free char *text = read_proc(look, proc_fd, paths, &len);

	if (text)
		swaps_parse(text, len, &look->swaps);
}

static void read_routes(struct use_look *look, int proc_fd)
{
	static const char *const v4[] = { "1/net/route", "net/route" };
	static const char *const v6[] = { "1/net/ipv6_route", "net/ipv6_route" };
	size_t len_v4;
	size_t len_v6;
	auto_free char *text_v4 = read_proc(look, proc_fd, v4, &len_v4);
	auto_free char *text_v6 = read_proc(look, proc_fd, v6, &len_v6);

	if (text_v4)
		routes_parse_v4(text_v4, len_v4, &look->routes);
	if (text_v6)
		routes_parse_v6(text_v6, len_v6, &look->routes);
}

/*
 * A bound console driver other than the dummy draws on the VGA text buffer or on the framebuffer.
 * With firmware framebuffers (efifb, simplefb) that is the boot VGA's memory although no link in
 * /sys says so, hence the boot VGA and not the framebuffer's parent decides.
 */
static bool screen_has_console(int sysfs_fd)
{
	auto_names struct sysfs_names names = { 0 };

	if (sysfs_list(sysfs_fd, "class/vtconsole", &names, NULL) != 0)
		return false;
	for (size_t i = 0; i < names.len; i++) {
		auto_free char *bind_path = xasprintf("class/vtconsole/%s/bind", names.items[i]);
		auto_free char *name_path = xasprintf("class/vtconsole/%s/name", names.items[i]);
		struct sysfs_attr bind;
		struct sysfs_attr name;

		if (sysfs_read(sysfs_fd, bind_path, &bind, NULL) == 0 &&
		    sysfs_read(sysfs_fd, name_path, &name, NULL) == 0 &&
		    strcmp(bind.text, "1") == 0 && !strstr(name.text, "dummy"))
			return true;
	}
	return false;
}

static void collect_console(struct use_look *look, const struct pci_functions *functions)
{
	for (size_t i = 0; i < functions->len; i++) {
		struct devpath device = { "", "" };

		if (functions->items[i].boot_vga != 1 || !screen_has_console(look->sysfs_fd))
			continue;
		memcpy(device.pci, functions->items[i].address, sizeof(device.pci));
		uses_add(&look->uses, &device, USE_CONSOLE, "console",
			 xstrdup("the console is on this boot VGA"));
	}
}

void use_collect(const struct scan_options *options, const struct pci_functions *functions,
		 struct report *report, struct uses *ret_uses)
{
	struct use_look look = {
		.sysfs_fd = options->sysfs_fd,
		.node_address = options->node_address,
		.blocks = blocks_new(options->sysfs_fd),
		.links = netlinks_new(options->sysfs_fd),
		.report = report,
	};

	read_mounts(&look, options->proc_fd);
	read_swaps(&look, options->proc_fd);
	read_routes(&look, options->proc_fd);

	use_storage_collect(&look);
	use_network_collect(&look);
	collect_console(&look, functions);
	*ret_uses = look.uses;

	mounts_done(&look.mounts);
	swaps_done(&look.swaps);
	routes_done(&look.routes);
	block_set_done(&look.mounted);
	block_set_done(&look.used);
	look.blocks = blocks_free(look.blocks);
	look.links = netlinks_free(look.links);
}

void use_scan(const struct scan_options *options, const struct pci_functions *functions,
	      struct report *report)
{
	struct uses uses = { 0 };

	use_collect(options, functions, report, &uses);
	uses_write(&uses, &report->lines);
	uses_done(&uses);
}

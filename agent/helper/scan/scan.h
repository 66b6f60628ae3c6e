/*
 * scan: one read of the machine: the host, its PCI functions, its USB devices, its mediated
 * devices, and what the host itself needs of them. Changes nothing.
 */
#pragma once

struct report;

/* Borrowed for the call. */
struct scan_options {
	int sysfs_fd; /* root of a sysfs tree */
	int proc_fd;  /* root of a proc tree of the same machine; -1: leave out its facts */
	int dev_fd;   /* the folder of its device nodes; -1: locks of disks are left out */
	int state_fd; /* the state directory, whose records are reported; -1: none */
	const char *node_address; /* the node's own address, NULL if not known */
};

/* Fill @report, or fail it (report_fail) if a list of devices or records could not be read, because
 * such a list is not empty. Equal states of the machine give equal bytes. The last line is
 * {"kind":"end"}, which distinguishes a complete report from a truncated one. */
void scan_run(const struct scan_options *options, struct report *report);

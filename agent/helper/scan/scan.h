/*
 * scan: one look at the machine: the host, its PCI functions, its USB devices, its mediated
 * devices, and what the host itself needs of them. Changes nothing.
 */
#pragma once

struct report;

/* Borrowed for the call. */
struct scan_options {
	int sysfs_fd; /* root of a sysfs tree */
	int proc_fd;  /* root of a proc tree of the same machine; -1: leave out its facts */
	int dev_fd;   /* the folder of its device nodes; -1: locks of disks are left out */
	int state_fd; /* the state directory, whose records are reported too; -1: none */
	const char *node_address; /* the node's own address, NULL if not known */
};

/* Fill @report, or fail it (report_fail) where a list of devices or records could not be read: a
 * list that could not be read is not an empty list. Equal states of the machine give equal bytes;
 * the last line is {"kind":"end"}, so a reader can tell a whole report from one that was cut
 * off. */
void scan_run(const struct scan_options *options, struct report *report);

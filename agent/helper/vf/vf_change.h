/*
 * vf_change: gives a physical function the number of virtual functions that a job wants, by way of
 * 0, and each of them its settings.
 *
 * Looks before every step and remembers no progress, but that autoprobe was switched (vf_record). A
 * virtual function that somebody has is never removed. What is done is said as in transition_out.
 */
#pragma once

struct err;
struct kernel;
struct vf_job;
struct vf_links;

/* Borrowed for the call. */
struct vf_change_options {
	int sysfs_fd;
	int proc_fd;
	int dev_fd;
	const char *state_dir;    /* made if its parent is there */
	const char *node_address; /* NULL: not known             */
	const struct kernel *kernel;
	const struct vf_links *links; /* NULL: nothing can be set */
	int out_fd;                   /* gets the lines */
};

/* 0 however that ended, as the last line says; < 0 if lines could not be written. */
int vf_change_run(const struct vf_change_options *options, const struct vf_job *job,
		  struct err *err);

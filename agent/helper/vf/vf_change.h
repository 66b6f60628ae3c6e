/*
 * vf_change: gives a physical function the number of virtual functions that a job wants, by way of
 * 0, and each of them its settings.
 *
 * Looks before every step and remembers no progress, except that autoprobe was switched (a record).
 * A virtual function in use is never removed. Steps are reported as described in frame/run.h.
 */
#pragma once

struct err;
struct run_options;
struct vf_job;
struct vf_links;

/* @links NULL: no setting can be changed. 0 however that ended, as the last line says; < 0 if lines
 * could not be written. */
int vf_change_run(const struct run_options *options, const struct vf_links *links,
		  const struct vf_job *job, struct err *err);

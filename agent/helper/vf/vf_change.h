/*
 * vf_change: sets the number of virtual functions of a physical function as a job wants it, by way
 * of 0, and applies the settings of each.
 *
 * Reads the state before every step and keeps no progress, except a record that autoprobe was
 * switched. A virtual function in use is never removed. Steps are reported as described in
 * frame/run.h.
 */
#pragma once

struct err;
struct run_options;
struct vf_job;
struct vf_links;

/* @links NULL: no setting can be changed. Returns 0 for every result, which the last line reports;
 * < 0 if lines could not be written. */
int vf_change_run(const struct run_options *options, const struct vf_links *links,
		  const struct vf_job *job, struct err *err);

/* sriov_helper: one run of hostdev-helper vfs. */
#pragma once

struct err;
struct sriov_helper;
struct sriov_job;
struct sriov_options;
struct sriov_outcome;
struct uv_loop_s;

/* Borrowed during the start, but for @arg. */
struct sriov_helper_spec {
	struct uv_loop_s *loop;
	const struct sriov_options *options;
	const char *node_address; /* may be NULL */
	const struct sriov_job *job;
	/* It has ended; what it came to may be taken over, its texts are then the callee's (it is
	 * empty afterwards). NULL: it is past its deadline; then it stays until on_gone. */
	void (*on_end)(void *arg, struct sriov_outcome *outcome);
	/* One that was past its deadline has ended. */
	void (*on_gone)(void *arg);
	void *arg;
};

/* on_end runs exactly once, never before this returns. NULL with @err: nothing was started. */
struct sriov_helper *sriov_helper_start(const struct sriov_helper_spec *spec, struct err *err);

/* Nobody waits for it any more: it ends by itself. Takes NULL, returns NULL. */
struct sriov_helper *sriov_helper_abandon(struct sriov_helper *helper);

/* What one past its deadline is doing, for people. Valid as long as it. */
const char *sriov_helper_text(struct sriov_helper *helper);

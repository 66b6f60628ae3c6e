/*
 * pid_watch: tells when a process that is not our child has ended.
 *
 * Owns a pidfd and nothing of the process. Knows processes by the numbers of this program's own pid
 * namespace: a number from elsewhere looks ended, so who looks again because of that and finds the
 * same holder waits by time before the next watch.
 */
#pragma once

struct err;
struct pid_watch;
struct uv_loop_s;

typedef void pid_watch_fn(void *arg);

/*
 * @fn runs at most once, when the process @pid has ended; never before this returns, also when
 * there is none such now. NULL with @err (ERR_RETRY: -ENOSYS before Linux 5.3, -EPERM, -EINVAL,
 * -EMFILE, ...): the caller looks by time instead.
 */
struct pid_watch *pid_watch_new(struct uv_loop_s *loop, int pid, pid_watch_fn *fn, void *arg,
				struct err *err);

/* Takes NULL, returns NULL. @fn does not run any more. May be called by @fn. */
struct pid_watch *pid_watch_free(struct pid_watch *watch);

/*
 * syscall_fails: a child in which one system call fails every time, as it does when the kernel is
 * out of memory or of files. Needs no right.
 */
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static inline bool syscall_fails(unsigned number, unsigned code)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | code),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* What @fn says in a child in which the system call @number fails with the errno @code. It asserts
 * nothing. */
static inline bool syscall_fails_for(unsigned number, unsigned code, bool (*fn)(void *arg),
				     void *arg)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0)
		_exit(syscall_fails(number, code) && fn(arg) ? 0 : 1);
	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

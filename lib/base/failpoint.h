/*
 * failpoint: named places where a test can kill the program, as a power failure would.
 *
 * Compiled in only with HOSTDEV_FAILPOINTS (failpoint_program() in CMakeLists.txt). If the
 * environment has HOSTDEV_FAILPOINT=NAME, the process kills itself with SIGKILL at that place; with
 * NAME+parent, it kills its parent first (but never init). With HOSTDEV_FAILPOINT_ONCE=FILE, it
 * does so only if it can create FILE, which must not exist.
 */
#pragma once

#ifdef HOSTDEV_FAILPOINTS
/* Kill the process if the environment selects @name. */
void failpoint(const char *name);
#else
static inline void failpoint(const char *name)
{
	(void)name;
}
#endif

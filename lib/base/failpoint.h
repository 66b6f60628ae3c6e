/*
 * failpoint: named places where a test can make the program die, as by a power cut.
 *
 * Compiled in only with HOSTDEV_FAILPOINTS (the preset `failpoints`). With the environment
 * HOSTDEV_FAILPOINT=NAME the process kills itself with SIGKILL there; with NAME+parent, its parent
 * first (init is spared). HOSTDEV_FAILPOINT_ONCE=FILE: only if FILE does not exist yet, which is
 * created then; where it cannot be created, nobody dies.
 */
#pragma once

#ifdef HOSTDEV_FAILPOINTS
/* Returns unless the environment says that the process dies here. */
void failpoint(const char *name);
#else
static inline void failpoint(const char *name)
{
	(void)name;
}
#endif

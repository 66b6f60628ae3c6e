#include "agent/plugin/socket_id.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

struct socket_id socket_id_of(const char *path)
{
	const unsigned mask = STATX_INO | STATX_CTIME | STATX_BTIME;
	struct statx_timestamp time;
	struct statx st;

	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, mask, &st) < 0)
		return (struct socket_id){ 0 };
	time = (st.stx_mask & STATX_BTIME) ? st.stx_btime : st.stx_ctime;
	return (struct socket_id){ .there = true,
				   .dev = makedev(st.stx_dev_major, st.stx_dev_minor),
				   .ino = st.stx_ino,
				   .s = time.tv_sec,
				   .ns = time.tv_nsec };
}

bool socket_id_same(const struct socket_id *a, const struct socket_id *b)
{
	return a->there == b->there && a->dev == b->dev && a->ino == b->ino && a->s == b->s &&
	       a->ns == b->ns;
}

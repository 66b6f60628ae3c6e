#include "base/lines.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"

static int too_long(const struct lines *l, struct err *err)
{
	return err_set(err, ERR_INVALID, -EMSGSIZE, "line longer than %zu bytes", l->max);
}

static int end_line(struct lines *l, const char *data, size_t len, line_fn *fn, void *arg,
		    struct err *err)
{
	int r;

	if (l->part.len + len > l->max)
		return too_long(l, err);
	if (l->part.len == 0)
		return fn(arg, data, len, err);

	str_add_mem(&l->part, data, len);
	r = fn(arg, l->part.buf, l->part.len, err);
	str_clear(&l->part);
	return r;
}

int lines_feed(struct lines *l, const char *data, size_t len, line_fn *fn, void *arg,
	       struct err *err)
{
	int r;

	while (len > 0) {
		const char *newline = memchr(data, '\n', len);
		size_t n = newline ? (size_t)(newline - data) : len;

		if (!newline) {
			if (l->part.len + n > l->max)
				return too_long(l, err);
			str_add_mem(&l->part, data, n);
			return 0;
		}
		r = end_line(l, data, n, fn, arg, err);
		if (r < 0)
			return r;
		data += n + 1;
		len -= n + 1;
	}
	return 0;
}

void lines_done(struct lines *l)
{
	str_done(&l->part);
}

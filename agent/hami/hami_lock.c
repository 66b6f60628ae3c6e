#include "agent/hami/hami_lock.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/names.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/timefmt.h"

int hami_lock_parse(const char *text, struct hami_lock *ret_lock, struct err *err)
{
	auto_free char *copy = xstrndup(text, HAMI_LOCK_MAX + 1);
	char *rest = copy;
	const char *time;
	const char *namespace;
	const char *pod;
	int64_t wall_ms;

	if (strlen(text) > HAMI_LOCK_MAX)
		return err_set(err, ERR_INVALID, -EFBIG,
			       "the Node's annotation " HAMI_LOCK " has more than %d bytes",
			       HAMI_LOCK_MAX);
	time = strsep(&rest, ",");
	namespace = strsep(&rest, ",");
	pod = strsep(&rest, ",");
	if (!timefmt_parse(time, &wall_ms) || (namespace && !pod) || rest)
		return err_set(err, ERR_INVALID, -EINVAL,
			       "the Node's annotation " HAMI_LOCK " is not TIME,NAMESPACE,POD: "
			       "'%.80s'",
			       text);
	if (!namespace)
		return err_set(err, ERR_INVALID, -EINVAL,
			       "the Node's annotation " HAMI_LOCK " names no pod: this HAMi is too "
			       "old");
	if (!names_valid_object(namespace) || !names_valid_object(pod))
		return err_set(err, ERR_INVALID, -EINVAL,
			       "the Node's annotation " HAMI_LOCK " does not name a pod: '%.80s'",
			       text);
	*ret_lock = (struct hami_lock){ .text = xstrdup(text),
					.namespace = xstrdup(namespace),
					.pod = xstrdup(pod) };
	return 0;
}

void hami_lock_done(struct hami_lock *lock)
{
	free(lock->text);
	free(lock->namespace);
	free(lock->pod);
	*lock = (struct hami_lock){ 0 };
}

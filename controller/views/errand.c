#include "controller/views/errand.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "kube/client.h"

struct errand *errand_new(struct errands *all, void *owner, const char *name, work_end_fn *end,
			  void *end_arg)
{
	struct errand *errand = xcalloc(1, sizeof(*errand));

	*errand = (struct errand){
		.owner = owner,
		.name = xstrdup(name),
		.all = all,
		.next = all->first,
		.end = end,
		.end_arg = end_arg,
	};
	if (all->first)
		all->first->before = errand;
	all->first = errand;
	return errand;
}

static void unlink_errand(struct errand *errand)
{
	if (errand->before)
		errand->before->next = errand->next;
	else
		errand->all->first = errand->next;
	if (errand->next)
		errand->next->before = errand->before;
}

/* Nobody else knows of it any more. */
static void finish(struct errand *errand, int result, const struct err *err)
{
	work_end_fn *end = errand->end;
	void *end_arg = errand->end_arg;

	free(errand->name);
	free(errand);
	end(end_arg, result == -ENOENT ? 0 : result, err);
}

void errand_end(struct errand *errand, int result, const struct err *err)
{
	unlink_errand(errand);
	finish(errand, result, err);
}

void errands_end(struct errands *all)
{
	struct errand *errand;

	while ((errand = all->first)) {
		all->first = errand->next;
		if (all->first)
			all->first->before = NULL;
		if (errand->call)
			kube_call_cancel(errand->call);
		finish(errand, 0, NULL);
	}
}

/*
 * permit_plan: what to write into a KubeVirt object, so that its permittedHostDevices have our entries and
 * nobody else's is touched.
 *
 * Pure. The three lists are atomic in KubeVirt's schema (x-kubernetes-list-type), so that server-side apply
 * knows no owner of a single entry: whoever applies a list takes all of it, and who takes himself out of it
 * takes all of it away. So the lists are replaced whole, on the state that they were read from
 * (metadata.resourceVersion), and which entries are ours stands in an annotation that the same write changes.
 *
 *	an entry that is | wished for                    | not wished for
 *	-----------------+-------------------------------+----------------
 *	ours             | stays, and is mended          | goes
 *	somebody else's  | stays, and is as good as ours | stays
 *	not there        | is added, and is ours         |
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct permit_wish;

#define PERMIT_ANNOTATION "hostdev.io/permitted-host-devices"

struct permit_plan {
	json_t *patch; /* JSON merge patch; NULL: all is as it should be */
	size_t added;
	size_t removed;
	size_t mended;
	/* A resource that we lend and that an entry of somebody else has KubeVirt serve by a plugin of its own;
	 * NULL: none. */
	char *clash;
};

/*
 * For @object, a KubeVirt as the API server has it. Without permittedHostDevices KubeVirt permits every
 * resource (pkg/virt-controller/services/renderresources.go, validatePermittedHostDevices), and with the first
 * entry no other any more: they are made only if @create says so, and taken away with our last entry then.
 */
void permit_plan(const json_t *object, const struct permit_wish *wish, bool create,
		 struct permit_plan *ret_plan);
/* Release. */
void permit_plan_done(struct permit_plan *plan);

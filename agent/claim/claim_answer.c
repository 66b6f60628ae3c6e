#include "agent/claim/claim_answer.h"

#include <errno.h>
#include <string.h>

#include "api/object.h"
#include "api/pcideviceclaim.h"
#include "base/err.h"
#include "kube/client.h"

struct pcideviceclaim *claim_answer_decode(const struct kube_response *response, const char *name,
					   struct err *err)
{
	auto_json json_t *json = NULL;
	struct pcideviceclaim *claim;
	void *object = NULL;

	if (json_map_load(response->body, response->body_len, &json, NULL) == 0)
		(void)api_object_decode(&pcideviceclaim_kind, json, &object, NULL);
	claim = object;
	if (claim && claim->meta.resource_version && strcmp(claim->meta.name, name) == 0)
		return claim;
	api_object_free(&pcideviceclaim_kind, object);
	err_set(err, ERR_RETRY, -EBADMSG, "the answer is not the claim '%s'", name);
	return NULL;
}

/* made_claim: a claim as it is prepared. */
#pragma once

#include "agent/dra/prepared.h"
#include "base/array.h"
#include "base/mem.h"

/* With no devices yet. @pod_claim may be NULL. */
static inline struct prepared_claim *made_claim(const char *uid, const char *name,
						const char *pod_claim)
{
	struct prepared_claim *claim = xcalloc(1, sizeof(*claim));

	claim->uid = xstrdup(uid);
	claim->ns = xstrdup("default");
	claim->name = xstrdup(name);
	claim->pod_claim = xstrdup_or_null(pod_claim);
	return claim;
}

/* Those of a PCI function, as JSON text; the caller frees. */
static inline char *made_attributes(const char *id)
{
	return xasprintf("{\"resource.kubernetes.io/pciBusID\":{\"string\":\"%s\"}}", id);
}

static inline void made_claim_device(struct prepared_claim *claim, const char *request,
				     const char *id, const char *group)
{
	*array_add(&claim->devices) = (struct prepared_device){
		.request = xstrdup(request),
		.pool = xstrdup("node1"),
		.device = xasprintf("pci-%s", id),
		.id = xstrdup(id),
		.resource = xstrdup("example.com/nic"),
		.iommu_group = xstrdup_or_null(group),
		.attributes = made_attributes(id),
	};
}

static inline struct prepared_request *made_claim_request(struct prepared_claim *claim,
							  const char *name)
{
	struct prepared_request *request = array_add(&claim->requests);

	request->name = xstrdup(name);
	return request;
}

static inline void made_claim_node(struct prepared_request *request, const char *path,
				   const char *host_path)
{
	*array_add(&request->nodes) = (struct prepared_node){ .path = xstrdup(path),
							      .host_path = xstrdup(host_path),
							      .permissions = xstrdup("rwm") };
}

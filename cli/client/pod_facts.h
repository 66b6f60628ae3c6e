/* pod_facts: which virtual machine a pod runs, and since when. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct err;
struct session;

/* pod_facts_done() releases the texts. NULL: not known. */
struct pod_facts {
	char *machine; /* KubeVirt's virtual machine that it runs */
	char *started; /* RFC 3339                                */
	bool deleted;  /* it is being deleted, or has ended       */
};

/* The pod as the API server has it; the caller releases it with json_decref(). */
int pod_read(struct session *session, const char *ns, const char *name, json_t **ret_pod,
	     struct err *err);

/* From the pod's JSON. Pure. */
int pod_facts_parse(const char *text, size_t len, struct pod_facts *ret_facts, struct err *err);
int pod_facts_read(struct session *session, const char *ns, const char *name,
		   struct pod_facts *ret_facts, struct err *err);
void pod_facts_done(struct pod_facts *facts);

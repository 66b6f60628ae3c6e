/* claim_answer: what an answer of the API server says of one claim. */
#pragma once

struct err;
struct kube_response;
struct pcideviceclaim;

/* The claim @name as the answer shows it, for the caller to free with api_object_free(); NULL with
 * @err (ERR_RETRY, -EBADMSG) if it shows something else. */
struct pcideviceclaim *claim_answer_decode(const struct kube_response *response, const char *name,
					   struct err *err);

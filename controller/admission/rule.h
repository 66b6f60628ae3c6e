/*
 * rule: a rule for one kind and operation, how it reports its result, and all rules. Pure.
 *
 * A rule may refuse and warn. A message names the object, then the problem, then the solution.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct admission_answer;
struct admission_request;
struct api_meta;
struct known;

/* HTTP status of a refusal. */
enum rule_code {
	RULE_FORBIDDEN = 403,
	RULE_CONFLICT = 409, /* conflict with another object, which may go away */
	RULE_INVALID = 422,
	RULE_LATER = 503,
};

struct rule_case {
	const struct known *known;
	const struct admission_request *request;
	const char *subject; /* "PCIDeviceClaim 'node1-000001000'" */
	const void *object;  /* the kind's struct; NULL for a deletion */
	const void *old;     /* likewise; NULL for a creation */
	struct admission_answer *answer;
};

typedef void rule_fn(const struct rule_case *c);

/* Always returns true, so that `a(c) || b(c)` stops at the first refusal. */
bool rule_refuse(const struct rule_case *c, enum rule_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void rule_warn(const struct rule_case *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A user's text, shortened for a message; "" for NULL. The caller frees it. */
char *rule_quote(const char *text);
/* Likewise for an agent's text, in full as far as views keep it (view.h). In a warning it
 * must come last, because warnings are cut at ADMISSION_WARNING_MAX. */
char *rule_quote_words(const char *text);

/* --- the rules: which object and operation, see rules.c --- */

/* PCIDeviceClaims (pci_claim.c) and USBDeviceClaims (usb_claim.c, whose immutable fields are
 * enforced by the schema). */
void pci_claim_create(const struct rule_case *c);
void pci_claim_update(const struct rule_case *c);
void pci_claim_delete(const struct rule_case *c);
void usb_claim_create(const struct rule_case *c);
void usb_claim_update(const struct rule_case *c);
void usb_claim_delete(const struct rule_case *c);

/* PCIDevices and USBDevices (device_object.c): the annotations of a PCIDevice, with a warning about
 * those that have no effect, and deletion, which also deletes the claims. */
void pci_device_write(const struct rule_case *c);
void pci_device_delete(const struct rule_case *c);
void usb_device_delete(const struct rule_case *c);

/* Refuse a resource annotation of a PCIDevice or its claim that the kubelet would not accept. An
 * annotation that was already on @old (NULL: none) is not refused; the claim's condition Offered
 * reports it. */
bool resource_misnamed(const struct rule_case *c, const struct api_meta *meta,
		       const struct api_meta *old);

/* SRIOVNetworkDevices (network_card.c). */
void network_card_create(const struct rule_case *c);
void network_card_update(const struct rule_case *c);
void network_card_delete(const struct rule_case *c);

/* SRIOVGPUDevices, VGPUDevices and MigConfigurations (gpu_card.c). */
void gpu_card_update(const struct rule_case *c);
void gpu_card_delete(const struct rule_case *c);
void vgpu_update(const struct rule_case *c);
void vgpu_delete(const struct rule_case *c);
void mig_update(const struct rule_case *c);

/*
 * Pods with spec.nodeName (pod.c), which bypass the scheduler. Warns; refuses if
 * known.refuse_pinned is set and it is not a mirror pod. A warning is also recorded as an event of
 * the pod.
 *
 * A kubelet ignores a resource that it does not know: a pod bound to a node without the resource
 * runs there without the device and without an error (removeMissingExtendedResources() of
 * pkg/kubelet/lifecycle/predicate.go, 1.34).
 */
void pod_create(const struct rule_case *c);

/* KubeVirt's VirtualMachines (vm.c), about the devices they request. A change that does not concern
 * devices is never refused, nor is anything that KubeVirt checks itself. */
void vm_create(const struct rule_case *c);
void vm_update(const struct rule_case *c);

/*
 * Harvester's move of a virtual machine's gpus[] to hostDevices[].
 *
 * KubeVirt accepts device plugins' GPUs in either list, but Harvester's components read only
 * hostDevices. The lists are replaced as a whole, so any number of items can move. An item stays if
 * it would lose something: fields that hostDevices do not have, or a resource that no device of
 * ours has.
 */
void vm_move(const struct rule_case *c, const json_t *object);

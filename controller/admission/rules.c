#include "controller/admission/rules.h"

#include <string.h>

#include "api/migconfiguration.h"
#include "api/names.h"
#include "api/object.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "api/pod.h"
#include "api/sriovgpudevice.h"
#include "api/sriovnetworkdevice.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"
#include "api/vgpudevice.h"
#include "api/virtualmachine.h"
#include "base/err.h"
#include "base/mem.h"
#include "controller/admission/claim.h"
#include "controller/admission/known.h"
#include "controller/admission/rule.h"
#include "controller/webhook/admission_review.h"

enum { OPERATIONS = ADMISSION_DELETE + 1 };

#define NEEDS(kind) (1U << (kind))
#define PCI         NEEDS(VIEW_PCIDEVICE)
#define USB         NEEDS(VIEW_USBDEVICE)
#define CLAIMS      (NEEDS(VIEW_PCICLAIM) | NEEDS(VIEW_USBCLAIM))
#define NODES       NEEDS(VIEW_NODE)
#define CARDS       (NEEDS(VIEW_NIC) | NEEDS(VIEW_GPU) | NEEDS(VIEW_VGPU))
#define VMS         NEEDS(VIEW_VM)
#define NAMES                         \
	(NEEDS(VIEW_MEDIATEDDEVICE) | \
	 NEEDS(VIEW_CONFIG)) /* sources of resources, in addition to devices and claims */

/* The rules of one kind. */
struct rules_row {
	const struct api_kind *kind;
	bool lenient; /* do not refuse for missing facts or an object that cannot be decoded */
	struct {
		rule_fn *fn;    /* NULL: always allowed */
		unsigned needs; /* the stores it reads */
	} on[OPERATIONS];
	void (*fill)(const struct rule_case *c,
		     const json_t *object); /* for mutation; NULL: none */
};

/* clang-format off */
static const struct rules_row rows[] = {
	{ .kind = &pcideviceclaim_kind, .fill = claim_fill_pci, .on = {
		[ADMISSION_CREATE] = { pci_claim_create, PCI | USB | CLAIMS | CARDS },
		[ADMISSION_UPDATE] = { pci_claim_update, PCI | USB | CLAIMS | CARDS },
		[ADMISSION_DELETE] = { pci_claim_delete, PCI | NODES | CARDS | VMS } } },
	{ .kind = &usbdeviceclaim_kind, .fill = claim_fill_usb, .on = {
		[ADMISSION_CREATE] = { usb_claim_create, PCI | USB | CLAIMS },
		[ADMISSION_UPDATE] = { usb_claim_update, 0 },
		[ADMISSION_DELETE] = { usb_claim_delete, PCI | USB | NODES | CARDS | VMS } } },
	{ .kind = &sriovnetworkdevice_kind, .on = {
		[ADMISSION_CREATE] = { network_card_create, PCI | CLAIMS | NEEDS(VIEW_NIC) },
		[ADMISSION_UPDATE] = { network_card_update, PCI | CLAIMS | NEEDS(VIEW_NIC) },
		[ADMISSION_DELETE] = { network_card_delete, PCI | CLAIMS | NODES } } },
	{ .kind = &sriovgpudevice_kind, .on = {
		[ADMISSION_UPDATE] = { gpu_card_update, PCI | CLAIMS | CARDS | VMS },
		[ADMISSION_DELETE] = { gpu_card_delete, NODES } } },
	{ .kind = &vgpudevice_kind, .on = {
		[ADMISSION_UPDATE] = { vgpu_update, PCI | CLAIMS | VMS },
		[ADMISSION_DELETE] = { vgpu_delete, PCI | NODES | VMS } } },
	{ .kind = &migconfiguration_kind, .on = {
		[ADMISSION_UPDATE] = { mig_update, CARDS } } },
	{ .kind = &pcidevice_kind, .on = {
		[ADMISSION_CREATE] = { pci_device_write, 0 },
		[ADMISSION_UPDATE] = { pci_device_write, 0 },
		[ADMISSION_DELETE] = { pci_device_delete, CLAIMS | NODES } } },
	{ .kind = &usbdevice_kind, .on = {
		[ADMISSION_DELETE] = { usb_device_delete, CLAIMS | NODES } } },
	{ .kind = &pod_kind, .lenient = true, .on = {
		[ADMISSION_CREATE] = { pod_create, PCI | USB | CLAIMS | NODES | NAMES } } },
	{ .kind = &virtualmachine_kind, .lenient = true, .fill = vm_move, .on = {
		[ADMISSION_CREATE] = { vm_create, PCI | USB | CLAIMS | NODES | VMS },
		[ADMISSION_UPDATE] = { vm_update, PCI | USB | CLAIMS | NODES | VMS } } },
};

/* Controllers that carry out decisions already made. The webhook configurations exclude most of
 * them, too. */
static const char *const machinery[] = {
	"system:serviceaccount:" NAMES_NAMESPACE ":hostdev-agent",
	"system:serviceaccount:" NAMES_NAMESPACE ":hostdev-controller",
	"system:serviceaccount:kube-system:generic-garbage-collector",
	"system:serviceaccount:kube-system:namespace-controller",
};
/* clang-format on */

static bool is_machinery(const char *user)
{
	for (size_t i = 0; i < ARRAY_LEN(machinery); i++) {
		if (strcmp(machinery[i], user) == 0)
			return true;
	}
	return false;
}

/* NULL: no rule for it. */
static const struct rules_row *find_row(const struct admission_request *request)
{
	if (*request->subresource || request->operation > ADMISSION_DELETE ||
	    is_machinery(request->user))
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (admission_request_is(request, rows[i].kind))
			return &rows[i];
	}
	return NULL;
}

/* A deletecollection request has no name. */
static const char *name_of(const struct admission_request *request)
{
	const json_t *meta = json_object_get(request->old_object, "metadata");
	const char *name = json_string_value(json_object_get(meta, "name"));

	return *request->name || !name ? request->name : name;
}

/* "PCIDeviceClaim 'node1-000001000'"; the caller frees. */
static char *subject_of(const struct rules_row *row, const struct admission_request *request)
{
	return xasprintf("%s '%.253s%s%.253s'", row->kind->kind, request->ns,
			 *request->ns ? "/" : "", name_of(request));
}

static bool is_known(const struct rule_case *c, unsigned needs, bool lenient)
{
	for (int i = 0; i < VIEW_KINDS; i++) {
		if (!(needs & (1U << i)) || c->known->synced[i])
			continue;
		if (lenient)
			rule_warn(c, "not checked: the controller has not read all %s yet",
				  view_whole((enum view_kind)i)->plural);
		else
			rule_refuse(
				c, RULE_LATER,
				"the controller has not read all %s yet: try again in a moment; if "
				"that does not help, see its log",
				view_whole((enum view_kind)i)->plural);
		return false;
	}
	return true;
}

/* 0 with the object, or with NULL if there is none. The cast is needed because jansson's
 * iterators take no const. */
static int decode(const struct rules_row *row, const json_t *json, void **ret_object,
		  struct err *err)
{
	union {
		const json_t *read;
		json_t *walked;
	} object = { .read = json };

	return json ? api_object_decode(row->kind, object.walked, ret_object, err) : 0;
}

static bool report_unreadable(const struct rule_case *c, bool lenient, const struct err *err)
{
	if (lenient)
		rule_warn(c, "not checked: %s", err->msg);
	else
		rule_refuse(c, RULE_INVALID, "%s", err->msg);
	return false;
}

/* True if the objects required by the operation are present. */
static bool read_objects(const struct rules_row *row, struct rule_case *c, void **object,
			 void **old)
{
	enum admission_operation operation = c->request->operation;
	struct err err = { 0 };

	if (decode(row, operation == ADMISSION_DELETE ? NULL : c->request->object, object, &err) <
		    0 ||
	    decode(row, operation == ADMISSION_CREATE ? NULL : c->request->old_object, old, &err) <
		    0)
		return report_unreadable(c, row->lenient, &err);
	if ((operation == ADMISSION_DELETE || *object) && (operation == ADMISSION_CREATE || *old)) {
		c->object = *object;
		c->old = *old;
		return true;
	}
	err_set(&err, ERR_INVALID, -1, "the request has no object");
	return report_unreadable(c, row->lenient, &err);
}

void rules_validate(const struct known *known, const struct admission_request *request,
		    struct admission_answer *answer)
{
	const struct rules_row *row = find_row(request);
	auto_free char *subject = NULL;
	void *object = NULL;
	void *old = NULL;
	struct rule_case c;

	if (!row || !row->on[request->operation].fn)
		return;
	subject = subject_of(row, request);
	c = (struct rule_case){
		.known = known, .request = request, .subject = subject, .answer = answer
	};
	if (is_known(&c, row->on[request->operation].needs, row->lenient) &&
	    read_objects(row, &c, &object, &old))
		row->on[request->operation].fn(&c);
	api_object_free(row->kind, object);
	api_object_free(row->kind, old);
}

void rules_mutate(const struct known *known, const struct admission_request *request,
		  struct admission_answer *answer)
{
	const struct rules_row *row = find_row(request);
	auto_free char *subject = NULL;

	if (!row || !row->fill || !request->object || request->operation == ADMISSION_DELETE)
		return;
	subject = subject_of(row, request);
	row->fill(
		&(struct rule_case){
			.known = known, .request = request, .subject = subject, .answer = answer },
		request->object);
}

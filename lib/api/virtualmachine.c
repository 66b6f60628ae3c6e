#include "api/virtualmachine.h"

#include <string.h>

#include "api/names.h"

static const struct json_row device_map[] = {
	JSON_STR(struct virtualmachine_device, name, "name", JSON_OPTIONAL),
	JSON_STR(struct virtualmachine_device, device_name, "deviceName", JSON_OPTIONAL),
	JSON_END,
};

#define S struct virtualmachine_domain_devices
static const struct json_row domain_devices_map[] = {
	JSON_LIST(S, host_devices, "hostDevices", JSON_OPTIONAL, struct virtualmachine_device,
		  device_map),
	JSON_LIST(S, gpus, "gpus", JSON_OPTIONAL, struct virtualmachine_device, device_map),
	JSON_END,
};
#undef S

static const struct json_row domain_map[] = {
	JSON_STRUCT(struct virtualmachine_domain, devices, "devices", JSON_OPTIONAL,
		    struct virtualmachine_domain_devices, domain_devices_map),
	JSON_END,
};

#define S struct virtualmachine_instance_spec
static const struct json_row instance_spec_map[] = {
	JSON_STRUCT(S, domain, "domain", JSON_OPTIONAL, struct virtualmachine_domain, domain_map),
	JSON_PAIRS(S, node_selector, "nodeSelector", JSON_OPTIONAL),
	JSON_END,
};
#undef S

static const struct json_row template_map[] = {
	JSON_STRUCT(struct virtualmachine_template, spec, "spec", JSON_OPTIONAL,
		    struct virtualmachine_instance_spec, instance_spec_map),
	JSON_END,
};

#define S struct virtualmachine_spec
static const struct json_row spec_map[] = {
	JSON_BOOL_ON(S, running, "running", JSON_OPTIONAL),
	JSON_STR(S, run_strategy, "runStrategy", JSON_OPTIONAL),
	JSON_STRUCT(S, template_, "template", JSON_OPTIONAL, struct virtualmachine_template,
		    template_map),
	JSON_END,
};
#undef S

static const struct json_row annotations_map[] = {
	JSON_STR(struct virtualmachine_annotations, allocation, NAMES_ANNOTATION_ALLOCATION,
		 JSON_OPTIONAL),
	JSON_END,
};

#define S struct virtualmachine_meta
static const struct json_row meta_map[] = {
	JSON_STR(S, meta.name, "name", JSON_REQUIRED),
	JSON_STR(S, meta.namespace_, "namespace", JSON_OPTIONAL),
	JSON_STR(S, meta.uid, "uid", JSON_OPTIONAL),
	JSON_STR(S, meta.resource_version, "resourceVersion", JSON_OPTIONAL),
	JSON_STR(S, meta.deletion_timestamp, "deletionTimestamp", JSON_OPTIONAL),
	JSON_STRUCT(S, annotations, "annotations", JSON_OPTIONAL, struct virtualmachine_annotations,
		    annotations_map),
	JSON_END,
};
#undef S

#define S struct virtualmachine_status
static const struct json_row status_map[] = {
	JSON_BOOL(S, created, "created", JSON_OPTIONAL),
	JSON_BOOL(S, ready, "ready", JSON_OPTIONAL),
	JSON_END,
};
#undef S

static const struct json_row map[] = {
	JSON_STRUCT(struct virtualmachine, meta, "metadata", JSON_REQUIRED,
		    struct virtualmachine_meta, meta_map),
	JSON_STRUCT(struct virtualmachine, spec, "spec", JSON_OPTIONAL, struct virtualmachine_spec,
		    spec_map),
	JSON_STRUCT(struct virtualmachine, status, "status", JSON_OPTIONAL,
		    struct virtualmachine_status, status_map),
	JSON_END,
};

const struct api_kind virtualmachine_kind = {
	.group = "kubevirt.io",
	.version = "v1",
	.kind = "VirtualMachine",
	.plural = "virtualmachines",
	.size = sizeof(struct virtualmachine),
	.map = map,
};

static bool starts_by_itself(const struct virtualmachine_spec *spec)
{
	const char *strategy = spec->run_strategy;

	if (!strategy)
		return spec->running;
	return strcmp(strategy, "Halted") != 0 && strcmp(strategy, "Manual") != 0;
}

bool virtualmachine_may_run(const struct virtualmachine *vm)
{
	return vm->status.created || vm->status.ready || starts_by_itself(&vm->spec);
}

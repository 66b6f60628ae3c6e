/*
 * virtualmachine: the parts of VirtualMachine of kubevirt.io/v1 that we use: the devices it
 * requests and the devices it was given. We write only the annotation that lists the latter.
 */
#pragma once

#include "api/kind.h"
#include "api/meta.h"

/* An item of hostDevices or gpus. */
struct virtualmachine_device {
	char *name; /* with Harvester, the name of a PCIDevice or USBDevice; otherwise free text */
	char *device_name; /* the extended resource */
};

struct virtualmachine_devices {
	struct virtualmachine_device *items;
	size_t len;
	size_t cap;
};

struct virtualmachine_domain_devices {
	struct virtualmachine_devices host_devices;
	struct virtualmachine_devices gpus;
};

struct virtualmachine_domain {
	struct virtualmachine_domain_devices devices;
};

struct virtualmachine_instance_spec {
	struct virtualmachine_domain domain;
	struct json_pairs node_selector;
};

struct virtualmachine_template {
	struct virtualmachine_instance_spec spec;
};

struct virtualmachine_spec {
	bool running; /* also true if not set: see runStrategy */
	char *run_strategy;
	struct virtualmachine_template template_;
};

struct virtualmachine_annotations {
	char *allocation; /* NAMES_ANNOTATION_ALLOCATION, as JSON text */
};

/* Only the needed annotations and labels are kept, because a cluster has many large virtual
 * machines. */
struct virtualmachine_meta {
	struct api_meta meta;
	struct virtualmachine_annotations annotations;
};

struct virtualmachine_status {
	bool created; /* an instance exists */
	bool ready;   /* the instance is running */
};

struct virtualmachine {
	struct virtualmachine_meta meta;
	struct virtualmachine_spec spec;
	struct virtualmachine_status status;
};

extern const struct api_kind virtualmachine_kind;

/* True if it has an instance, or KubeVirt would start one by itself. False for a virtual machine
 * without an instance that its spec switches off or that is started by hand only (runStrategy
 * Halted, Manual). */
bool virtualmachine_may_run(const struct virtualmachine *vm);

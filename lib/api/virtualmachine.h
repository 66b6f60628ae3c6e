/*
 * virtualmachine: VirtualMachine of kubevirt.io/v1, what of it we use: which devices it asks for, and
 * which it was given. Of it only the annotation that says so is ever written.
 */
#pragma once

#include "api/kind.h"
#include "api/meta.h"

/* An item of hostDevices or gpus. */
struct virtualmachine_device {
	char *name;        /* with Harvester that of a PCIDevice or USBDevice; else free text */
	char *device_name; /* the extended resource                                           */
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
	bool running; /* true also when it is not said: see runStrategy */
	char *run_strategy;
	struct virtualmachine_template template_;
};

struct virtualmachine_annotations {
	char *allocation; /* NAMES_ANNOTATION_ALLOCATION, JSON text */
};

/* Of the annotations and labels only what is needed is kept: a cluster has many, and large ones. */
struct virtualmachine_meta {
	struct api_meta meta;
	struct virtualmachine_annotations annotations;
};

struct virtualmachine_status {
	bool created; /* it has an instance */
	bool ready;   /* which runs         */
};

struct virtualmachine {
	struct virtualmachine_meta meta;
	struct virtualmachine_spec spec;
	struct virtualmachine_status status;
};

extern const struct api_kind virtualmachine_kind;

/* Does it have an instance, or would KubeVirt start one by itself? Not one that is switched off by its
 * spec, or started by hand only (runStrategy Halted, Manual), until it has. */
bool virtualmachine_may_run(const struct virtualmachine *vm);

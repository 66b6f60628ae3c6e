/* config_check: the allowed values of the HostDeviceConfig. Private to the folder. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/config/config.h"
#include "api/json_values.h"

struct err;

/* Each is 0, or -EINVAL with @err saying what is wrong with the field @what; @text may be NULL,
 * which counts as missing. */

/* A name that a kubelet takes for a resource. */
int config_check_resource(const char *text, struct err *err);
/* "8086:10d3" */
int config_check_pci_ids(const char *text, uint16_t *ret_vendor, uint16_t *ret_device,
			 struct err *err);
/* One to four hex digits. */
int config_check_usb_id(const char *what, const char *text, uint16_t *ret_id, struct err *err);
/* "1-2.3", or missing */
int config_check_port_path(const char *text, struct err *err);
/* Absolute, with nothing in it to be resolved: no empty part, no "." and no "..". */
int config_check_path(const char *what, const char *text, struct err *err);
/* Not empty, printable, at most CONFIG_TEXT_MAX bytes. */
int config_check_text(const char *what, const char *text, struct err *err);
/* Each of "rwm" at most once, at least one. */
int config_check_permissions(const char *text, struct err *err);
/* The number of devices; 0 means CONFIG_COUNT_DEFAULT. */
int config_check_count(int64_t count, unsigned *ret_count, struct err *err);
int config_check_labels(const struct json_pairs *labels, struct err *err);

/* The mode of `dra`; missing is off. @external: another device plugin serves the entry, which
 * leaves nothing for DRA; @on_demand: its devices can be bound on demand. */
int config_check_dra(const char *mode, bool external, bool on_demand, enum config_dra *ret_dra,
		     struct err *err);

/* The type of a mediated device as KubeVirt writes it: trimmed, '_' for each blank. Into
 * *@ret_type, which the caller frees. */
int config_check_type(const char *text, char **ret_type, struct err *err);

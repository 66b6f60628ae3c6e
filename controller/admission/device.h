/*
 * device: what the rules look at of a PCIDevice or USBDevice, in one block of memory: a cluster may have
 * hundreds of thousands.
 *
 * The kinds below are those of lib/api with fewer rows and a digest (kind.h); an entry's object is it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/kind.h"

enum device_text {
	DEVICE_ADDRESS, /* of a USB device: of its controller            */
	DEVICE_NODE,
	DEVICE_GROUP,
	DEVICE_RESOURCE,
	DEVICE_DRIVER,
	DEVICE_NATIVE, /* which it goes back to                          */
	DEVICE_PARENT, /* address of a virtual function's card           */
	DEVICE_PORT,   /* of a USB device                                */
	DEVICE_REASON, /* of the condition Claimable where it is False   */
	DEVICE_MESSAGE,
	DEVICE_POD, /* "namespace/name" of one that has it               */
	DEVICE_TEXTS,
};

struct device {
	int total_vfs;
	bool bridge;      /* a port: it stays with its driver             */
	uint16_t members; /* of its group; 0 if it is alone in it         */
	uint16_t at[DEVICE_TEXTS + 1];
	char texts[]; /* those above, then the addresses of the members   */
};

extern const struct api_kind device_pci_kind;
extern const struct api_kind device_usb_kind;

/* "" if it has none. */
const char *device_text(const struct device *device, enum device_text text);

/* The address of the i-th function of its group, itself among them. */
const char *device_member(const struct device *device, size_t i);
bool device_has_member(const struct device *device, const char *address);

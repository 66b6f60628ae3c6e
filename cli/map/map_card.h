/*
 * map_card: what the page shows of one device, node or event, as one line of JSON. Pure.
 *
 * The page knows no kinds: a card says where it belongs (node, address, on), how it is (state), what
 * stands on it (text, driver, ...), and what the details are (facts, conditions, claim, pods).
 * Every function takes borrowed objects and gives text for the caller to free, without a line break. @fault
 * is what is wrong with the node, NULL: nothing.
 */
#pragma once

#include "cli/model/state.h"

struct event;
struct mediateddevice;
struct migconfiguration;
struct node;
struct node_fault;
struct pcidevice;
struct pcideviceclaim;
struct usbdevice;
struct usbdeviceclaim;
struct vgpudevice;

/* One of @device and @claim may be NULL, not both: a claim without its device is shown as gone. */
char *map_card_pci(const char *id, const struct pcidevice *device,
		   const struct pcideviceclaim *claim, const struct node_fault *fault,
		   enum state_conflict conflict);
char *map_card_usb(const char *id, const struct usbdevice *device,
		   const struct usbdeviceclaim *claim, const struct node_fault *fault);
char *map_card_mdev(const char *id, const struct mediateddevice *device,
		    const struct node_fault *fault);
/* Of what a card is divided into (cli/model/part.h); NULL: there is none, and nobody wants one. @function is the virtual
 * function of the vGPU, NULL: not known. */
char *map_card_vgpu(const char *id, const struct vgpudevice *vgpu, const struct pcidevice *function,
		    const struct node_fault *fault);
char *map_card_mig(const char *id, const struct migconfiguration *mig,
		   const struct node_fault *fault);
char *map_card_node(const char *id, const struct node *node, const struct node_fault *fault);
char *map_card_event(const char *id, const struct event *event);

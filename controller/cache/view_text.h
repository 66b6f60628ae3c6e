/*
 * view_text: further strings of a view, for the admission rules.
 *
 * They follow the view in its memory block: for each string, a byte with its type and the text; 0
 * after the last. Most objects have few of them, so this needs less memory than an offset for each.
 * A view that is not in a store has none and must not be passed here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct view;

enum view_text {
	VIEW_TEXT_NODE = 1, /* from its status or spec */
	VIEW_TEXT_NODE_LABEL,
	VIEW_TEXT_RESOURCE, /* from its status */
	VIEW_TEXT_OVERRIDE, /* from its annotation */
	VIEW_TEXT_ADDRESS,  /* of a USB device or its claim: address of its controller */
	VIEW_TEXT_GROUP,
	VIEW_TEXT_DRIVER,
	VIEW_TEXT_NATIVE, /* the driver to restore */
	VIEW_TEXT_PARENT, /* address of the card of a virtual function, vGPU or mdev */
	VIEW_TEXT_CARD,   /* of a vGPU: its label with the name of the card */
	VIEW_TEXT_PORT,   /* port of a USB device or its claim */
	VIEW_TEXT_REASON, /* of the condition Claimable if False */
	VIEW_TEXT_MESSAGE,
	VIEW_TEXT_MODEL, /* "8086:10d3" of a PCI or USB device, or the type of a mediated one */
	VIEW_TEXT_POD,
	VIEW_TEXT_USER,       /* user of a claim */
	VIEW_TEXT_FINALIZERS, /* "a.b/c, d.e/f" of an object that is being deleted */
	VIEW_TEXT_MEMBER,     /* address of a function in its group; omitted if it is alone in it */
};

/* "" if there is none. */
const char *view_text(const struct view *view, enum view_text text);

/* The number of functions in its IOMMU group, including itself; 0 if it is alone. */
size_t view_members(const struct view *view);
/* The address of one of them; "" if @i is too large. */
const char *view_member(const struct view *view, size_t i);
bool view_has_member(const struct view *view, const char *address);

/*
 * view_text: the texts of a view beside those that it points to: what the rules of admission look at.
 *
 * They lie behind the view, in its block: of each that the object has a byte that tells which, and the
 * text; 0 after the last. Most objects have few of them, so that this is less than an offset for each.
 * A view that is in no store has none, and may not be asked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct view;

enum view_text {
	VIEW_TEXT_NODE = 1, /* as its status or its spec says                    */
	VIEW_TEXT_NODE_LABEL,
	VIEW_TEXT_RESOURCE, /* of its status                                     */
	VIEW_TEXT_OVERRIDE, /* of its annotation                                 */
	VIEW_TEXT_ADDRESS,  /* of a USB device or its claim: of its controller   */
	VIEW_TEXT_GROUP,
	VIEW_TEXT_DRIVER,
	VIEW_TEXT_NATIVE, /* the driver that it goes back to                     */
	VIEW_TEXT_PARENT, /* address of the card of a virtual function, vGPU or mdev */
	VIEW_TEXT_CARD,   /* of a vGPU: its label with the name of the card      */
	VIEW_TEXT_PORT,   /* of a USB device, or its claim                       */
	VIEW_TEXT_REASON, /* of the condition Claimable where it is False        */
	VIEW_TEXT_MESSAGE,
	VIEW_TEXT_MODEL, /* "8086:10d3" of a PCI or USB device, or the type of a mediated one */
	VIEW_TEXT_POD,
	VIEW_TEXT_USER,       /* of a claim                                          */
	VIEW_TEXT_FINALIZERS, /* "a.b/c, d.e/f" of what is being deleted, and waits for them */
	VIEW_TEXT_MEMBER,     /* address of a function of its group; not if it is alone in it */
};

/* "" if it has none. */
const char *view_text(const struct view *view, enum view_text text);

/* The addresses of the functions of its group, itself among them; none if it is alone in it. */
size_t view_members(const struct view *view);
/* "" if there are not so many. */
const char *view_member(const struct view *view, size_t i);
bool view_has_member(const struct view *view, const char *address);

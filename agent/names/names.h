/*
 * names: what vendors, devices and classes are called, from the pci.ids and usb.ids of the system.
 */
#pragma once

#include <stddef.h>

struct err;
struct report;

enum name_kind { NAME_PCI, NAME_PCI_CLASS, NAME_USB, NAME_USB_CLASS };

enum {
	NAMES_MAX = 65536, /* more identifiers than this in one run are refused */
};

/* One question and its answer; texts are NULL where nothing is known. */
struct name {
	enum name_kind kind;
	unsigned upper; /* vendor or class                 */
	unsigned lower; /* device or subclass              */
	char *id;       /* the question as it was asked    */
	char *outer;    /* the vendor's or class's name    */
	char *inner;    /* the device's or subclass's name */
};

struct names {
	struct name *items;
	size_t len;
	size_t cap;
};

/*
 * Add a question: "pci:8086:10d3", "usb:0627:0001" (vendor and device), "pciclass:0200" (class and
 * subclass) or "usbclass:03". ERR_INVALID when @id has another form or there are too many.
 */
int names_add(struct names *names, const char *id, struct err *err);
void names_done(struct names *names);

/* Append one line per question to @report, in the order they were asked. */
void names_write(const struct names *names, struct report *report);

/*
 * Answer the questions of PCI (names_pci.c, by libpci) and of USB (names_usb.c) from the file at
 * @path. A file that is missing or broken is a problem in @report; what was found before the broken
 * place counts.
 */
void names_find_pci(struct names *names, const char *path, struct report *report);
void names_find_usb(struct names *names, const char *path, struct report *report);

/* The answers to USB questions in the text of usb.ids. No I/O. */
void names_usb_parse(struct names *names, const char *text, size_t len);

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pci/pci.h>

#include "agent/helper/sys/report.h"
#include "agent/names/names.h"
#include "base/mem.h"

enum {
	NAME_MAX_LEN = 1024,
	FILE_MAX = 64 << 20,
	/* Local names only: neither udev's database nor the DNS. */
	LOOKUP_FLAGS = PCI_LOOKUP_NO_NUMBERS | PCI_LOOKUP_NO_HWDB,
};

/*
 * libpci's error hook must not return, and its default ends the process. This one leaves by longjmp
 * to the call that was made; the hooks carry no argument, hence the file-scope state.
 */
static jmp_buf leave;
static char message[256];

static void note_message(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

static void note_message(const char *format, va_list args)
{
	(void)vsnprintf(message, sizeof(message), format, args);
	message[strcspn(message, "\n")] = '\0';
}

static void on_error(char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

static void on_error(char *format, ...)
{
	va_list args;

	va_start(args, format);
	note_message(format, args);
	va_end(args);
	longjmp(leave, 1);
}

static void on_warning(char *format, ...) __attribute__((format(printf, 1, 2)));

static void on_warning(char *format, ...)
{
	va_list args;

	va_start(args, format);
	note_message(format, args);
	va_end(args);
}

static void on_debug(char *format, ...) __attribute__((format(printf, 1, 2)));

/* NOLINTNEXTLINE(readability-non-const-parameter): the type is libpci's */
static void on_debug(char *format, ...)
{
	(void)format;
}

static char *found_or_null(const char *found)
{
	return found && found[0] ? xstrdup(found) : NULL;
}

static void find_device(struct pci_access *access, struct name *name)
{
	char text[NAME_MAX_LEN];

	name->outer = found_or_null(pci_lookup_name(access, text, sizeof(text),
						    PCI_LOOKUP_VENDOR | LOOKUP_FLAGS, name->upper));
	name->inner = found_or_null(pci_lookup_name(access, text, sizeof(text),
						    PCI_LOOKUP_DEVICE | LOOKUP_FLAGS, name->upper,
						    name->lower));
}

/* libpci answers with the class's name and "[ccss]" where the subclass has none; so the class alone
 * is asked for by a subclass that the file does not have. */
static char *find_class_alone(struct pci_access *access, unsigned class)
{
	char text[NAME_MAX_LEN];
	char tail[16];

	for (unsigned subclass = 0xff; subclass > 0; subclass--) {
		const char *found;
		size_t len;
		int tail_len = snprintf(tail, sizeof(tail), " [%02x%02x]", class, subclass);

		found = pci_lookup_name(access, text, sizeof(text), PCI_LOOKUP_CLASS | LOOKUP_FLAGS,
					class << 8 | subclass);
		if (!found)
			return NULL;
		len = strlen(found);
		if (len > (size_t)tail_len && strcmp(found + len - (size_t)tail_len, tail) == 0)
			return xstrndup(found, len - (size_t)tail_len);
	}
	return NULL;
}

static void find_class(struct pci_access *access, struct name *name)
{
	unsigned class = name->upper << 8 | name->lower;
	char text[NAME_MAX_LEN];
	char tail[16];
	const char *found =
		pci_lookup_name(access, text, sizeof(text), PCI_LOOKUP_CLASS | LOOKUP_FLAGS, class);

	name->outer = find_class_alone(access, name->upper);
	(void)snprintf(tail, sizeof(tail), " [%04x]", class);
	if (found && !strstr(found, tail))
		name->inner = xstrdup(found);
}

static bool wants_pci(const struct names *names)
{
	for (size_t i = 0; i < names->len; i++) {
		if (names->items[i].kind == NAME_PCI || names->items[i].kind == NAME_PCI_CLASS)
			return true;
	}
	return false;
}

/* libpci passes over a file that it cannot open, so that is found out first. */
static bool is_usable(const char *path, struct report *report)
{
	struct stat st;

	if (stat(path, &st) < 0 || access(path, R_OK) < 0)
		report_problem(report, "", "pci.ids", "%s: %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		report_problem(report, "", "pci.ids", "%s is not a file", path);
	else if (st.st_size > FILE_MAX)
		report_problem(report, "", "pci.ids", "%s is larger than %d bytes", path, FILE_MAX);
	else
		return true;
	return false;
}

static void load(struct pci_access *access, const char *path, struct report *report)
{
	message[0] = '\0';
	if (setjmp(leave) == 0)
		(void)pci_load_name_list(access);
	if (message[0])
		report_problem(report, "", "pci.ids", "%s: %s", path, message);
}

void names_find_pci(struct names *names, const char *path, struct report *report)
{
	auto_free char *copy = NULL;
	struct pci_access *access;

	if (!wants_pci(names) || !is_usable(path, report))
		return;
	access = pci_alloc();
	access->error = on_error;
	access->warning = on_warning;
	access->debug = on_debug; /* pci_init() would set it, and look for devices as well */
	copy = xstrdup(path);
	pci_set_name_list_path(access, copy, 0);
	load(access, path, report);
	for (size_t i = 0; i < names->len; i++) {
		if (names->items[i].kind == NAME_PCI)
			find_device(access, &names->items[i]);
		if (names->items[i].kind == NAME_PCI_CLASS)
			find_class(access, &names->items[i]);
	}
	pci_cleanup(access);
}

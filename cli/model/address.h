/* address: addresses of devices, as people and the kernel write them. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Compare addresses: PCI by domain, bus, device and function; USB ports by their numbers ("1-2"
 * before "1-10"); others as text. */
int address_compare(const char *a, const char *b);

/* Is it a PCI address, with its domain ("0000:04:00.0") or without ("04:00.0")? */
bool address_is_pci(const char *text);

/* Does @text mean @address? Case is ignored, and the domain 0000 may be left out. An empty text
 * or address never matches. */
bool address_means(const char *text, const char *address);

/* Length of the domain and bus of a PCI address ("0000:04" of "0000:04:00.0"); 0 if it is no PCI
 * address with a domain. */
size_t address_bus_len(const char *address);

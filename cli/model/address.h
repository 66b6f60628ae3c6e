/* address: where on a node a device is, in the words of people and of the kernel. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Order of addresses: PCI by domain, bus, device and function, USB ports by their numbers ("1-2" before
 * "1-10"); what is neither, by its text. */
int address_compare(const char *a, const char *b);

/* Is it a PCI address, with its domain ("0000:04:00.0") or without ("04:00.0")? */
bool address_is_pci(const char *text);

/* Does @text mean @address: the same, in whichever case, or the same without the domain 0000?
 * Nothing means an address that is not known, nor is it meant by no word. */
bool address_means(const char *text, const char *address);

/* Length of the part of a PCI address that says domain and bus ("0000:04" of "0000:04:00.0"); 0 if it is
 * no PCI address with its domain. */
size_t address_bus_len(const char *address);

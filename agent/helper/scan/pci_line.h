/* pci_line: one PCI function as a line of the report. */
#pragma once

struct pci_function;
struct str;

/* Append the line of @function to @lines. */
void pci_line_write(const struct pci_function *function, struct str *lines);

/* print: an inventory as text for a person or a program: kubectl's table, YAML or JSON. */
#pragma once

struct err;
struct inventory;
struct out;
struct str;

/* Append @inventory to out->text, as out->format says: on a terminal a table fits it, and -o wide
 * is whole. YAML and JSON give one v1 List of the objects that the agent would apply. */
void print_inventory(struct out *out, const struct inventory *inventory);

/* Write @text to standard output. */
int print_text(const struct str *text, struct err *err);

/* print: an inventory as text for a person or a program: kubectl's table, YAML or JSON. */
#pragma once

struct inventory;
struct str;

enum print_format { PRINT_TABLE, PRINT_WIDE, PRINT_YAML, PRINT_JSON };

/* "table", "wide", "yaml", "json". 0, or -EINVAL. */
int print_format_from_text(const char *text, enum print_format *ret_format);

/* Append @inventory to @out. YAML and JSON give one v1 List of the objects that the agent would
 * apply. */
void print_inventory(struct str *out, const struct inventory *inventory, enum print_format format);

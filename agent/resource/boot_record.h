/*
 * boot_record: a file of the state directory that outlives this process, but not the boot.
 *
 * It is {"boot": BOOT_ID, KEY: VALUE}: what an earlier boot has written is not read. It is renamed
 * into its place, so that a reader never sees half of it; nothing is done for a power failure,
 * which ends the boot.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct boot_record;

/* The record @file below @state_dir (NULL: nothing is read or written) with the member @key, all
 * borrowed. *@ret_value is what the file has of this boot, NULL if that is nothing; the caller
 * unrefs. It logs a file that cannot be read. */
struct boot_record *boot_record_new(const char *state_dir, const char *file, const char *key,
				    json_t **ret_value);
/* Takes NULL, returns NULL. */
struct boot_record *boot_record_free(struct boot_record *record);

/* Write @value, an object, which it takes over, if it differs from what was written last. An empty
 * one does not make a file. It logs the first failure; the next call writes again. */
void boot_record_keep(struct boot_record *record, json_t *value);

/* Did the last write fail? */
bool boot_record_is_behind(const struct boot_record *record);

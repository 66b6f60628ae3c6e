/*
 * use_log: since when scans have seen each device without uses. A user can release a device for a
 * moment: a file system is remounted, a DHCP lease is renewed. A device is bound or offered only
 * after it has been free for a while. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct use_log;

/* For how long scans have to see a device free. */
enum { USE_LOG_FREE_MS = 5000 };

struct use_log *use_log_new(void);
/* Takes NULL, returns NULL. */
struct use_log *use_log_free(struct use_log *log);

/* A scan that began at @began_ms is there; what it has seen is added next. */
void use_log_scan(struct use_log *log, uint64_t began_ms);

/* It has seen the device @key refused for @reason (of the condition Claimable). Counts if that is a
 * use. */
void use_log_add(struct use_log *log, const char *key, const char *reason);

/* For how many ms more scans have to see the device free until it has been for USE_LOG_FREE_MS; 0:
 * it has been, or it is in use now. Of a device that no scan has seen in use, the time of the first
 * scan counts if its claim was @refused because of a use, by an agent before this one. */
uint64_t use_log_unproven_ms(const struct use_log *log, const char *key, bool refused,
			     uint64_t now_ms);

/* The longest of all devices: until then something may still change without a scan. 0: nothing
 * does. */
uint64_t use_log_longest_ms(const struct use_log *log, uint64_t now_ms);

struct api_conditions;

/* Does the condition Ready of a claim say that it was refused because of a use? */
bool use_log_was_refused(const struct api_conditions *conditions);

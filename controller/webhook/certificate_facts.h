/*
 * certificate_facts: the properties of the webhook's certificates that decide when to renew them.
 * Creates nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct certificate_set;
struct json_strs;

/* Limit for parsed PEM. */
enum { CERTIFICATE_PEM_MAX = 64 * 1024 };

/* Times since the epoch. */
struct certificate_life {
	int64_t made_ms; /* creation time: later than the start of its validity */
	int64_t end_ms;
};

struct certificate_facts {
	bool signs;     /* the newest CA is valid now, and its key is present */
	bool serves;    /* a serving certificate by one of the CAs, valid for all hosts, with key */
	bool by_newest; /* ... by the newest one */
	bool overlaps;  /* there are CAs besides the newest */
	struct certificate_life ca;
	struct certificate_life serving;
};

/* The facts of @set at @now_ms, if the certificate must be valid for all @hosts. */
struct certificate_facts certificate_facts_read(const struct certificate_set *set,
						const struct json_strs *hosts, int64_t now_ms);

/* The CA that signed the serving certificate, as PEM, which the caller frees; "" if none did. */
char *certificate_facts_issuer(const struct certificate_set *set);

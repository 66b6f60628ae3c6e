/*
 * certificate_facts: what is true of the webhook's certificates, as far as it decides when they are
 * made anew. Reads; makes nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct certificate_set;
struct json_strs;

/* At most so many bytes of PEM are looked at. */
enum { CERTIFICATE_PEM_MAX = 64 * 1024 };

/* Times since the epoch. */
struct certificate_life {
	int64_t made_ms; /* when it was made: a while after its validity begins */
	int64_t end_ms;
};

struct certificate_facts {
	bool signs; /* the newest CA is good at the time, and its key is there      */
	bool serves; /* there is a certificate, good at the time for all hosts, with its key, by one of the CAs */
	bool by_newest; /* ... by the newest one */
	bool overlaps;  /* there is more than the newest CA */
	struct certificate_life ca;
	struct certificate_life serving;
};

/* Of @set at @now_ms, where the certificate is to be good for all @hosts. */
struct certificate_facts certificate_facts_read(const struct certificate_set *set,
						const struct json_strs *hosts, int64_t now_ms);

/* The one of its CAs that the served certificate is from, as PEM, which the caller frees; "" if none. */
char *certificate_facts_issuer(const struct certificate_set *set);

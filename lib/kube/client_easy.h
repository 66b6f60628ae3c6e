/*
 * client_easy: the options of one curl transfer, and what it came to. A part of client_curl.c, for nobody
 * else.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <curl/curl.h>

#include "kube/transport.h"

struct credential_files;

enum { EASY_POOL_MAX = 4 };

/* What all transfers of a transport have in common. */
struct easy_common {
	char *base; /* "https://host:port/prefix" as curl gets it */
	char *user_agent;
	char *authorization; /* the newest; NULL: none */
	char *ca;
	char *cert;
	char *key;
	struct curl_slist *connect_to; /* where that host really is; NULL: there */
	struct curl_slist *headers;    /* of every request; NULL: none     */
	bool insecure;
	char *proxy;               /* URL; "" is none, NULL what the environment says */
	CURL *pool[EASY_POOL_MAX]; /* handles at rest */
	size_t pooled;
};

void easy_common_init(struct easy_common *common, const struct transport_config *config);
void easy_common_files(struct easy_common *common, const struct credential_files *files);
void easy_common_authorize(struct easy_common *common, const char *authorization);
void easy_common_done(struct easy_common *common);

/* A handle without options, and back. */
CURL *easy_take(struct easy_common *common);
void easy_give(struct easy_common *common, CURL *easy);

/* Set everything but the callbacks. The list returned lives as long as the transfer. */
struct curl_slist *easy_prepare(CURL *easy, const struct easy_common *common,
				const struct transport_request *request);

/* The status of the answer; 0 as long as none came. */
int easy_status(CURL *easy);

/* Has the answer come by HTTP/2? */
bool easy_is_http2(CURL *easy);

/* How long the answer asks to wait, an hour at most; 0: it does not say. */
uint64_t easy_retry_after_ms(CURL *easy);

/* What curl's @code of a transfer at its end means. */
enum transfer_result easy_result(CURLcode code);

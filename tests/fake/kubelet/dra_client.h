/*
 * dra_client: the messages of the DRA API as a kubelet reads and writes them: the other side of
 * agent/dra/dra_codec.h.
 */
#pragma once

#include "agent/dra/dra_codec.h"

/* Append a request of NodePrepareResources or NodeUnprepareResources. */
int dra_codec_write_claims(const struct dra_claims *claims, struct str *out, struct err *err);

/* Decode the responses. -EBADMSG: not such a message. */
int dra_codec_read_prepared(const char *data, size_t len, struct dra_results *ret_results,
			    struct err *err);
int dra_codec_read_unprepared(const char *data, size_t len, struct dra_results *ret_results,
			      struct err *err);

/* Decode a message with the health of devices, and append a line per device: "pool/device", and
 * " trouble" if it is unhealthy. -EBADMSG. */
int dra_codec_read_health(const char *data, size_t len, struct str *out, struct err *err);

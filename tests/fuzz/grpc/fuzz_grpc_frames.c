/* Any bytes as a stream of messages: cut or not, the same messages and the same end come out. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "grpc/frame.h"

enum { MAX = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool note(void *arg, const char *data, size_t len)
{
	assert(len <= MAX);
	str_add_mem(arg, data, len);
	str_add_char(arg, '|');
	return true;
}

static enum grpc_status feed(const char *data, size_t size, size_t chunk, struct str *log)
{
	struct grpc_frames f = { .max = MAX };
	struct err err = { 0 };
	enum grpc_status status = GRPC_OK;

	for (size_t at = 0; at < size && status == GRPC_OK; at += chunk) {
		size_t n = size - at < chunk ? size - at : chunk;

		status = grpc_frames_feed(&f, data + at, n, note, log, &err);
		assert(f.part.len <= MAX);
	}
	assert((status == GRPC_OK) == (err.kind == ERR_NONE));
	grpc_frames_done(&f);
	return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t chunk = size > 0 ? 1 + data[0] % 16 : 1;
	auto_str struct str whole = STR_INIT;
	auto_str struct str cut = STR_INIT;

	assert(feed((const char *)data, size, SIZE_MAX / 2, &whole) ==
	       feed((const char *)data, size, chunk, &cut));
	assert(whole.len == cut.len && memcmp(str_cstr(&whole), str_cstr(&cut), whole.len) == 0);
	return 0;
}

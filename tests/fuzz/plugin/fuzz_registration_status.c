/* Any bytes as what a kubelet says of a registration: its words are short and can stand in a
 * log. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/plugin/registration_codec.h"
#include "base/err.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free char *error = NULL;
	bool registered = false;
	struct err err = { 0 };

	if (registration_status_unpack((const char *)data, size, &registered, &error, &err) < 0) {
		assert(err.kind == ERR_INVALID && !error);
		return 0;
	}
	assert(strlen(error) <= 200);
	for (size_t i = 0; error[i]; i++)
		assert((unsigned char)error[i] >= ' ' && error[i] != 0x7f);
	return 0;
}

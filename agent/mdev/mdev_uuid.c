#include "agent/mdev/mdev_uuid.h"

#include <stdint.h>
#include <stdio.h>

#include "base/mem.h"

/* FNV-1a with the parameters for 64 bits; @seed makes the two halves differ. */
static uint64_t hash(uint64_t seed, const char *text)
{
	uint64_t h = 0xcbf29ce484222325 ^ seed;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3;
	/* The last bytes of the text have hardly reached the upper bits: mix (splitmix64). */
	h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9;
	h = (h ^ (h >> 27)) * 0x94d049bb133111eb;
	return h ^ (h >> 31);
}

void mdev_uuid_make(const char *node, const char *parent, const char *type, size_t index,
		    char ret_uuid[MDEV_UUID_SIZE])
{
	auto_free char *text = xasprintf("%s/%s/%s/%zu", node, parent, type, index);
	uint64_t high = hash(0, text);
	uint64_t low = hash(0x686f7374646576, text);

	high = (high & ~UINT64_C(0xf000)) | 0x8000;
	low = (low & ~(UINT64_C(3) << 62)) | UINT64_C(2) << 62;
	(void)snprintf(ret_uuid, MDEV_UUID_SIZE, "%08x-%04x-%04x-%04x-%012llx",
		       (unsigned)(high >> 32), (unsigned)(high >> 16 & 0xffff),
		       (unsigned)(high & 0xffff), (unsigned)(low >> 48),
		       (unsigned long long)(low & 0xffffffffffff));
}

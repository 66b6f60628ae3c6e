#include "cli/map/map_token.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/err.h"

int map_token_make(char ret_token[MAP_TOKEN_SIZE], struct err *err)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char bytes[MAP_TOKEN_LEN / 2];

	/* getrandom(2) returns up to 256 bytes completely or not at all. */
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return err_set(err, ERR_RETRY, -errno, "get random bytes for the address: %s",
			       strerror(errno));
	for (size_t i = 0; i < sizeof(bytes); i++) {
		ret_token[2 * i] = digits[bytes[i] >> 4];
		ret_token[2 * i + 1] = digits[bytes[i] & 15];
	}
	ret_token[MAP_TOKEN_LEN] = '\0';
	return 0;
}

bool map_token_is(const char token[MAP_TOKEN_SIZE], const char *text, size_t len)
{
	volatile unsigned char differ = 0; /* volatile: a compiler must not end the loop early */

	if (len != MAP_TOKEN_LEN)
		return false;
	for (size_t i = 0; i < MAP_TOKEN_LEN; i++)
		differ = (unsigned char)(differ | (token[i] ^ text[i]));
	return differ == 0;
}

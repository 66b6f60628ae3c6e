#include "cli/map/map_guard.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "base/err.h"

/* --- the token --- */

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

/* --- requests --- */

static bool is_ours(const struct map_guard *guard, const char *host)
{
	static const char *const names[] = { "127.0.0.1", "localhost" };

	if (!host)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char ours[32];

		(void)snprintf(ours, sizeof(ours), "%s:%u", names[i], guard->port);
		if (strcasecmp(host, ours) == 0)
			return true;
		/* Browsers omit port 80. */
		if (guard->port == 80 && strcasecmp(host, names[i]) == 0)
			return true;
	}
	return false;
}

struct map_verdict map_guard_check(const struct map_guard *guard, const struct map_request *request)
{
	const char *path = request->path;
	size_t len;

	if (!is_ours(guard, request->host))
		return (struct map_verdict){
			.status = 421,
			.why = "this is not the host of the page: open the address that was "
			       "printed",
		};
	if (strcmp(request->method, "GET") != 0)
		return (struct map_verdict){ .status = 405,
					     .why = "the page is read-only: only GET is answered" };
	path += *path == '/';
	len = strcspn(path, "/");
	if (!map_token_is(guard->token, path, len) || path[len] != '/')
		return (struct map_verdict){
			.status = 403,
			.why = "the address lacks its token: open the whole of what was printed",
		};
	return (struct map_verdict){ .status = 200, .page = path + len + 1 };
}

#include "grpc/head.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"

enum { OVERHEAD = 32 };

static const struct {
	const char *name;
	size_t offset;
} kept[] = {
	{ ":method", offsetof(struct grpc_head, method) },
	{ ":path", offsetof(struct grpc_head, path) },
	{ ":status", offsetof(struct grpc_head, http_status) },
	{ "content-type", offsetof(struct grpc_head, content_type) },
	{ "grpc-timeout", offsetof(struct grpc_head, timeout) },
	{ "grpc-encoding", offsetof(struct grpc_head, encoding) },
	{ "grpc-status", offsetof(struct grpc_head, status) },
	{ "grpc-message", offsetof(struct grpc_head, message) },
};

static char **member(struct grpc_head *head, size_t i)
{
	return (void *)((char *)head + kept[i].offset);
}

void grpc_head_add(struct grpc_head *head, size_t max, const char *name, const char *value,
		   size_t value_len)
{
	head->size += strlen(name) + value_len + OVERHEAD;
	if (head->size > max)
		head->too_large = true;
	if (head->too_large)
		return;
	for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
		if (strcmp(name, kept[i].name) == 0 && !*member(head, i))
			*member(head, i) = xstrndup(value, value_len);
	}
}

bool grpc_head_is_grpc(const struct grpc_head *head)
{
	static const char type[] = "application/grpc";
	const char *rest;

	if (!head->content_type || strncmp(head->content_type, type, sizeof(type) - 1) != 0)
		return false;
	rest = head->content_type + sizeof(type) - 1;
	return *rest == '\0' || *rest == '+' || *rest == ';';
}

bool grpc_head_is_plain(const struct grpc_head *head)
{
	return !head->encoding || strcmp(head->encoding, "identity") == 0;
}

void grpc_head_done(struct grpc_head *head)
{
	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		free(*member(head, i));
	*head = (struct grpc_head){ .size = 0 };
}

/* --- the grpc-timeout header --- */

enum { DIGITS_MAX = 8, VALUE_MAX = 99999999 };

/* A unit is @times milliseconds, or 1/@parts of a millisecond. */
static const struct unit {
	char letter;
	uint64_t times;
	uint64_t parts;
} units[] = {
	{ 'n', 0, 1000000 }, { 'u', 0, 1000 },  { 'm', 1, 1 },
	{ 'S', 1000, 1 },    { 'M', 60000, 1 }, { 'H', 3600000, 1 },
};

static uint64_t divide_up(uint64_t value, uint64_t by)
{
	return value / by + (value % by != 0);
}

bool grpc_timeout_parse(const char *text, uint64_t *ret_ms)
{
	size_t len = strlen(text);
	char digits[DIGITS_MAX + 1];
	uint64_t value = 0;

	if (len < 2 || len > DIGITS_MAX + 1)
		return false;
	memcpy(digits, text, len - 1);
	digits[len - 1] = '\0';
	if (!str_to_u64(digits, &value))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		const struct unit *u = &units[i];

		if (u->letter != text[len - 1])
			continue;
		*ret_ms = u->times ? value * u->times : divide_up(value, u->parts);
		return true;
	}
	return false;
}

const char *grpc_timeout_format(uint64_t ms, char buf[GRPC_TIMEOUT_SIZE])
{
	for (size_t i = 2; i < ARRAY_LEN(units); i++) {
		uint64_t value = divide_up(ms, units[i].times);
		bool last = i + 1 == ARRAY_LEN(units);

		if (value > VALUE_MAX && !last)
			continue;
		if (value > VALUE_MAX)
			value = VALUE_MAX;
		(void)snprintf(buf, GRPC_TIMEOUT_SIZE, "%u%c", (unsigned)value, units[i].letter);
		break;
	}
	return buf;
}

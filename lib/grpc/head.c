#include "grpc/head.h"

#include <string.h>

#include "base/mem.h"

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

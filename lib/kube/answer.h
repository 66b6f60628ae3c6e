/*
 * answer: maps an HTTP status and its body to the error codes listed in client.h. Pure.
 */
#pragma once

#include <stddef.h>

struct err;

/* Largest error body that is parsed. */
enum { ANSWER_STATUS_MAX = 64 * 1024 };

/* Return 0 for 2xx. Otherwise fill @err with the code and kind from client.h's table and a
 * message that quotes the Status object in @body, or the beginning of the text if it is not a
 * Status. */
int answer_result(int status, const char *body, size_t len, struct err *err);

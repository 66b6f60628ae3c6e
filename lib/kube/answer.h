/*
 * answer: what an HTTP status and its body mean, as client.h lists it. Pure.
 */
#pragma once

#include <stddef.h>

struct err;

/* How much of an error's body is looked at. */
enum { ANSWER_STATUS_MAX = 64 * 1024 };

/* 0 for 2xx. Else fill @err with the code and kind of client.h's table and a message that quotes the
 * Status object in @body if there is one, or else the beginning of the text. */
int answer_result(int status, const char *body, size_t len, struct err *err);

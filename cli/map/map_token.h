/*
 * map_token: the secret in the address of the page.
 *
 * Without it, a request gets nothing: other users of this machine and pages of other origins can
 * reach the port, but cannot guess 128 random bits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct err;

enum { MAP_TOKEN_LEN = 32, MAP_TOKEN_SIZE = MAP_TOKEN_LEN + 1 };

/* Make a token: hexadecimal, terminated. Fails only if the kernel has no randomness. */
int map_token_make(char ret_token[MAP_TOKEN_SIZE], struct err *err);

/* Are the @len bytes at @text the token? Takes the same time wherever they differ. */
bool map_token_is(const char token[MAP_TOKEN_SIZE], const char *text, size_t len);

/* base64: RFC 4648 with padding, as used in kubeconfigs and certificates. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Decode @text into *@ret_data, skipping line breaks and nothing else. The result is terminated
 * by a NUL that *@ret_len does not count; the caller frees it. False if @text is not base64. */
bool base64_decode(const char *text, size_t len, char **ret_data, size_t *ret_len);

/* Encode @data without line breaks; the caller frees. */
char *base64_encode(const void *data, size_t len);

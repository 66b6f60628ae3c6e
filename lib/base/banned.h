/*
 * banned: calls that do not compile in this project. The compiler includes this before every file.
 *
 * The unbounded string functions write past their buffer; strtok and the time conversions keep
 * hidden global state; atoi and similar functions cannot report an error (use num.h).
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf strtok
#pragma GCC poison gmtime localtime atoi atol atoll

/*
 * banned: calls that do not compile in this project. Included by the compiler ahead of every file.
 *
 * The unbounded string functions write past what they are given; strtok and the time conversions
 * keep hidden global state; atoi and its kin cannot report an error (use num.h).
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf strtok
#pragma GCC poison gmtime localtime atoi atol atoll

/*
 * jsonpath: the part of kubectl's JSONPath templates that most people use. Pure.
 *
 *	{.nodes[*].name}   {.nodes[0].devices[?(@.state=="Claimable")].name}   {range .nodes[*]}{.name}{"\n"}{end}
 *
 * Fields (.a, ['a'], .a\.b), indices (also from the end), [*], .*, filters with ==, != or a path alone, range and
 * end, text in quotes. Not: .., slices, unions, other operators of filters.
 */
#pragma once

#include <jansson.h>

struct err;
struct str;

/* Append to @to what @template_ makes of @root; what @root does not have is nothing, as with kubectl get. Text of @root
 * is cleaned (out_text). -EINVAL (ERR_INVALID): what is wrong with the template; @root NULL finds that out. */
int jsonpath_print(const char *template_, json_t *root, struct str *to, struct err *err);

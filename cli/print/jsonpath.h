/*
 * jsonpath: kubectl's JSONPath templates. Pure.
 *
 *	{.nodes[*].name}   {.nodes[0].devices[?(@.state=="Claimable")].name}
 *	{range .nodes[*]}{.name}{"\n"}{end}
 *
 * Fields (.a, ['a'], .a\.b), fields at any depth (..a), indices (also from the end), slices
 * ([0:2]), unions ([0,2], ['a','b']), [*], .*, filters with ==, !=, <, <=, >, >= or a path alone,
 * range and end, text in quotes. Not: the step of a slice.
 */
#pragma once

#include <jansson.h>

struct err;
struct str;

/* Append the result of @template_ for @root. Fields that @root does not have are empty, as with
 * kubectl get. Text of @root is cleaned (out_text). -EINVAL (ERR_INVALID): the template is
 * wrong; with @root NULL it is only checked. */
int jsonpath_print(const char *template_, json_t *root, struct str *to, struct err *err);

/*
 * json_map: one table per struct for both decoding and encoding.
 *
 * A map is an array of rows, one per member, ended by JSON_END. A row does not compile if the C
 * type of the member is wrong. A mapped struct owns everything it points to, on the heap.
 *
 *	static const struct json_row disk_map[] = {
 *		JSON_STR(struct disk, name, "name", JSON_REQUIRED),
 *		JSON_INT(struct disk, size, "sizeBytes", JSON_OPTIONAL),
 *		JSON_END,
 *	};
 *
 * Each type has one value for absence: NULL for a string, false, 0 (or the row's own value: -1 for
 * a NUMA node, true for a feature that is on by default), the empty list. JSON null, an empty
 * string and a missing field all decode to it, as in Go; unknown fields are ignored.
 *
 * Strings must be UTF-8. A NUL in a string, for example in an annotation, decodes to U+FFFD.
 * Strings from JSON are always UTF-8; strings from the kernel or pci.ids are sanitized when they
 * are read (str_add_clean). Encoding sanitizes the rest, so that no object is lost.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/json_values.h"

struct err;

enum {
	JSON_ITEMS_MAX = 65536,           /* items of one list */
	JSON_TEXT_MAX = 64 * 1024 * 1024, /* bytes that json_map_load() accepts */
};

enum json_row_type {
	JSON_ROW_END,
	JSON_ROW_STR,
	JSON_ROW_BOOL,
	JSON_ROW_INT,
	JSON_ROW_INT64,
	JSON_ROW_STRS,
	JSON_ROW_PAIRS,
	JSON_ROW_STRUCT,
	JSON_ROW_LIST,
	JSON_ROW_RAW,
};

enum json_need {
	JSON_OPTIONAL, /* omitted when encoding if absent */
	JSON_ALWAYS,   /* may be absent when decoding; encoded as "", false, 0, [] or {} */
	JSON_REQUIRED, /* absence is an error when decoding; always encoded */
};

struct json_row {
	const char *key;
	enum json_row_type type;
	enum json_need need;
	size_t at;                  /* offset of the member */
	size_t owner;               /* size of the struct the row belongs to */
	size_t item;                /* size of the nested struct or of one item */
	int64_t absent;             /* numbers and bool: the value that means absent */
	const struct json_row *map; /* of the nested struct or the items */
};

/* clang-format off */
/* NOLINTBEGIN(bugprone-macro-parentheses): types and members must not be in parentheses */
#define JSON_MEMBER_(type, member) (((type *)0)->member)
#define JSON_AT_(type, member, ctype) \
	_Generic(&JSON_MEMBER_(type, member), ctype *: offsetof(type, member))
#define JSON_NUMBER_(type, member) \
	_Generic(&JSON_MEMBER_(type, member), int *: JSON_ROW_INT, int64_t *: JSON_ROW_INT64)
#define JSON_PLAIN_(type_, member_, key_, need_, row_, ctype_) \
	{ .key = (key_), .type = (row_), .need = (need_), .owner = sizeof(type_), \
	  .at = JSON_AT_(type_, member_, ctype_) }

/* char * */
#define JSON_STR(type, member, key, need) \
	JSON_PLAIN_(type, member, key, need, JSON_ROW_STR, char *)

/* bool */
#define JSON_BOOL(type, member, key, need) \
	JSON_PLAIN_(type, member, key, need, JSON_ROW_BOOL, bool)

/* bool that is true if absent (see json_map_init) */
#define JSON_BOOL_ON(type_, member_, key_, need_) \
	{ .key = (key_), .type = JSON_ROW_BOOL, .need = (need_), .owner = sizeof(type_), \
	  .at = JSON_AT_(type_, member_, bool), .absent = true }

/* struct json_strs */
#define JSON_STRS(type, member, key, need) \
	JSON_PLAIN_(type, member, key, need, JSON_ROW_STRS, struct json_strs)

/* struct json_pairs */
#define JSON_PAIRS(type, member, key, need) \
	JSON_PLAIN_(type, member, key, need, JSON_ROW_PAIRS, struct json_pairs)

/* int or int64_t; 0 if absent */
#define JSON_INT(type, member, key, need) JSON_INT_OR(type, member, key, need, 0)

/* int or int64_t with another value for absent (see json_map_init) */
#define JSON_INT_OR(type_, member_, key_, need_, absent_) \
	{ .key = (key_), .type = JSON_NUMBER_(type_, member_), .need = (need_), \
	  .owner = sizeof(type_), .at = offsetof(type_, member_), .absent = (absent_) }

/* a nested struct with a map of its own */
#define JSON_STRUCT(type_, member_, key_, need_, ctype_, map_) \
	{ .key = (key_), .type = JSON_ROW_STRUCT, .need = (need_), .owner = sizeof(type_), \
	  .at = JSON_AT_(type_, member_, ctype_), .item = sizeof(ctype_), .map = (map_) }

/* a list: a member of type struct { ctype *items; size_t len, cap; } */
#define JSON_LIST(type_, member_, key_, need_, ctype_, map_) \
	{ .key = (key_), .type = JSON_ROW_LIST, .need = (need_), .owner = sizeof(type_), \
	  .at = JSON_AT_(type_, member_.items, ctype_ *), .item = sizeof(ctype_), .map = (map_) }

/* char *, the JSON text of a value of any type, compact; for what its owner alone understands, such
 * as a runtime.RawExtension. Text that is not JSON is encoded as null. */
#define JSON_RAW(type, member, key, need) \
	JSON_PLAIN_(type, member, key, need, JSON_ROW_RAW, char *)

#define JSON_END { .type = JSON_ROW_END }
/* NOLINTEND(bugprone-macro-parentheses) */
/* clang-format on */

/* Set every member to absent without releasing anything. A struct whose map has JSON_INT_OR or
 * JSON_BOOL_ON rows must be initialised this way, not with `= { 0 }`. */
void json_map_init(const struct json_row *map, void *object);

/* Release what the object owns, then json_map_init() it. */
void json_map_done(const struct json_row *map, void *object);

/*
 * Decode @json into @object, which must not own anything. On error, @object is as after
 * json_map_init(), and @err names the field (ERR_INVALID, -EINVAL): "status.conditions[2].type:
 * expected a string, got a number".
 */
int json_map_decode(const struct json_row *map, json_t *json, void *object, struct err *err);

/* Encode into a new JSON object (never NULL), which the caller releases with json_decref(). */
json_t *json_map_encode(const struct json_row *map, const void *object);

/* True if both encode to the same JSON. */
bool json_map_equal(const struct json_row *map, const void *a, const void *b);

/* Make @to a deep copy of @from. @to must not own anything. */
void json_map_copy(const struct json_row *map, void *to, const void *from);

/*
 * Parse @len bytes of text, which must be exactly one JSON value of any type. If a field occurs
 * twice, the last one wins, as in Kubernetes. Nesting deeper than 2,048, a NUL and invalid UTF-8
 * are errors (ERR_INVALID, -EINVAL); so is text of more than JSON_TEXT_MAX bytes (-EMSGSIZE). The
 * caller releases *@ret_json.
 */
int json_map_load(const char *text, size_t len, json_t **ret_json, struct err *err);

/* json_map_load(), then json_map_decode(). */
int json_map_parse(const struct json_row *map, const char *text, size_t len, void *object,
		   struct err *err);

/* Compact JSON text, which the caller frees. */
char *json_map_text(const json_t *json);

/* --- reading JSON --- */

/* The string at @key of @object; "" if there is none. */
const char *json_get_text(const json_t *object, const char *key);
/* The same, but NULL if it is missing or empty. */
const char *json_get_nonempty(const json_t *object, const char *key);

/* --- building JSON --- */

/* Set @key of @object to @value, which is taken. This and the next two abort without memory, for a
 * NULL value, and for a string that is not UTF-8. */
void json_put(json_t *object, const char *key, json_t *value);
/* NULL is "". */
void json_put_text(json_t *object, const char *key, const char *text);
/* Append @value, which is taken, to @array. */
void json_add(json_t *array, json_t *value);

#define auto_json __attribute__((cleanup(json_decrefp)))

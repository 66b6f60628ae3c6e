#include "agent/nvidia/nvml_line.h"

#include <errno.h>
#include <string.h>

#include "agent/inventory/limits.h"
#include "api/json_map.h"
#include "base/err.h"
#include "base/mem.h"

enum {
	ADDRESS_MAX = 31,
	VERSION_MAX = 79,
	FUNCTION_MAX = 64,
	CLUSTER_MAX = 32,
};

#define TEXT_ROW(member, key)   JSON_STR(struct nvml_line, member, key, JSON_OPTIONAL)
#define NUMBER_ROW(member, key) JSON_INT_OR(struct nvml_line, member, key, JSON_OPTIONAL, -1)
#define BOOL_ROW(member, key)   JSON_BOOL(struct nvml_line, member, key, JSON_OPTIONAL)

static const struct json_row line_map[] = {
	JSON_STR(struct nvml_line, kind_text, "kind", JSON_REQUIRED),
	JSON_INT(struct nvml_line, number, "n", JSON_OPTIONAL),
	TEXT_ROW(address, "address"),
	TEXT_ROW(peer, "peer"),
	TEXT_ROW(uuid, "uuid"),
	TEXT_ROW(name, "name"),
	TEXT_ROW(driver, "driver"),
	TEXT_ROW(nvml, "nvml"),
	TEXT_ROW(cluster, "cluster"),
	TEXT_ROW(profile, "profile"),
	TEXT_ROW(function, "function"),
	TEXT_ROW(message, "message"),
	TEXT_ROW(type_text, "type"),
	NUMBER_ROW(index, "index"),
	NUMBER_ROW(minor, "minor"),
	NUMBER_ROW(brand, "brand"),
	NUMBER_ROW(architecture, "architecture"),
	NUMBER_ROW(compute_major, "computeMajor"),
	NUMBER_ROW(compute_minor, "computeMinor"),
	NUMBER_ROW(cuda, "cuda"),
	NUMBER_ROW(gpus, "gpus"),
	NUMBER_ROW(slot, "slot"),
	NUMBER_ROW(gi, "gi"),
	NUMBER_ROW(ci, "ci"),
	NUMBER_ROW(gpu_slices, "gpuSlices"),
	NUMBER_ROW(compute_slices, "computeSlices"),
	NUMBER_ROW(multiprocessors, "multiprocessors"),
	NUMBER_ROW(copy_engines, "copyEngines"),
	NUMBER_ROW(decoders, "decoders"),
	NUMBER_ROW(encoders, "encoders"),
	NUMBER_ROW(jpeg_engines, "jpegEngines"),
	NUMBER_ROW(ofa_engines, "ofaEngines"),
	NUMBER_ROW(level, "level"),
	NUMBER_ROW(nvlinks, "nvlinks"),
	NUMBER_ROW(code, "code"),
	NUMBER_ROW(clique, "clique"),
	NUMBER_ROW(memory_mib, "memoryMiB"),
	NUMBER_ROW(events, "events"),
	NUMBER_ROW(data, "data"),
	NUMBER_ROW(recovery, "recovery"),
	BOOL_ROW(persistence, "persistence"),
	BOOL_ROW(drained, "drained"),
	BOOL_ROW(mig, "mig"),
	BOOL_ROW(mig_capable, "migCapable"),
	BOOL_ROW(mig_pending, "migPending"),
	BOOL_ROW(remap_pending, "remapPending"),
	BOOL_ROW(remap_failed, "remapFailed"),
	BOOL_ROW(well, "well"),
	JSON_END,
};

/* Texts for people: cleaned and cut. */
static const struct limit texts[] = {
	LIMIT(struct nvml_line, name, NVML_LINE_NAME_MAX, NULL),
	LIMIT(struct nvml_line, driver, VERSION_MAX, NULL),
	LIMIT(struct nvml_line, nvml, VERSION_MAX, NULL),
	LIMIT(struct nvml_line, function, FUNCTION_MAX, NULL),
	LIMIT(struct nvml_line, message, NVML_LINE_MESSAGE_MAX, NULL),
};

/* What a kind cannot be without. */
enum {
	NEEDS_NUMBER = 1,
	NEEDS_ADDRESS = 2,
	NEEDS_UUID = 4,
	NEEDS_CODE = 8,
	NEEDS_INSTANCE = 16,
	NEEDS_PEER = 32,
	NEEDS_GPU = 64, /* an address or an index */
	NEEDS_TYPE = 128,
	NEEDS_NVLINKS = 256,
	NEEDS_GPUS = 512,
};

/* clang-format off */
static const struct {
	const char *name;
	enum nvml_line_kind kind;
	unsigned needs;
} kinds[] = {
	{ "at",        NVML_LINE_AT, NEEDS_GPU },
	{ "system",    NVML_LINE_SYSTEM, NEEDS_NUMBER | NEEDS_GPUS },
	{ "gpu",       NVML_LINE_GPU, NEEDS_NUMBER | NEEDS_ADDRESS | NEEDS_UUID },
	{ "mig",       NVML_LINE_MIG, NEEDS_NUMBER | NEEDS_ADDRESS | NEEDS_UUID | NEEDS_INSTANCE },
	{ "pair",      NVML_LINE_PAIR, NEEDS_NUMBER | NEEDS_ADDRESS | NEEDS_PEER | NEEDS_NVLINKS },
	{ "switch",    NVML_LINE_SWITCH, NEEDS_NUMBER | NEEDS_ADDRESS | NEEDS_NVLINKS },
	{ "probe",     NVML_LINE_PROBE, NEEDS_NUMBER | NEEDS_ADDRESS | NEEDS_UUID },
	{ "releasing", NVML_LINE_RELEASING, NEEDS_NUMBER | NEEDS_ADDRESS },
	{ "released",  NVML_LINE_RELEASED, NEEDS_NUMBER | NEEDS_ADDRESS },
	{ "attached",  NVML_LINE_ATTACHED, NEEDS_NUMBER | NEEDS_ADDRESS },
	{ "problem",   NVML_LINE_PROBLEM, NEEDS_CODE },
	{ "failed",    NVML_LINE_FAILED, NEEDS_CODE },
	{ "end",       NVML_LINE_END, 0 },
	{ "watched",   NVML_LINE_WATCHED, NEEDS_ADDRESS | NEEDS_UUID },
	{ "watching",  NVML_LINE_WATCHING, NEEDS_GPUS },
	{ "event",     NVML_LINE_EVENT, NEEDS_TYPE },
	{ "lost",      NVML_LINE_LOST, NEEDS_ADDRESS | NEEDS_UUID | NEEDS_CODE },
	{ "idle",      NVML_LINE_IDLE, 0 },
};

static const struct {
	const char *name;
	enum nvml_event_type type;
} types[] = {
	{ "xid",          NVML_EVENT_TYPE_XID },
	{ "doubleBitEcc", NVML_EVENT_TYPE_DOUBLE_BIT_ECC },
	{ "mig",          NVML_EVENT_TYPE_MIG },
	{ "unavailable",  NVML_EVENT_TYPE_UNAVAILABLE },
	{ "recovery",     NVML_EVENT_TYPE_RECOVERY },
};
/* clang-format on */

void nvml_line_done(struct nvml_line *line)
{
	json_map_done(line_map, line);
}

/* Is @text absent, or at most @max characters of @set? */
static bool is_of(const char *text, size_t max, const char *set)
{
	size_t len = text ? strlen(text) : 0;

	return len <= max && (!text || strspn(text, set) == len);
}

static bool is_uuid(const char *text)
{
	return !text || ((strncmp(text, "GPU-", 4) == 0 || strncmp(text, "MIG-", 4) == 0) &&
			 is_of(text, NVML_LINE_UUID_MAX,
			       "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-/"));
}

static bool is_address(const char *text)
{
	return !text || limit_is_address(text, ADDRESS_MAX);
}

/* The first member whose value is of another form than it has to be; NULL: there is none. */
static const char *wrong_text(const struct nvml_line *line)
{
	if (!is_address(line->address))
		return "address";
	if (!is_address(line->peer))
		return "peer";
	if (!is_uuid(line->uuid))
		return "uuid";
	/* It becomes a part of a resource's name. */
	if (!is_of(line->profile, NVML_LINE_PROFILE_MAX, "0123456789abcdefghijklmnopqrstuvwxyz.+-"))
		return "profile";
	if (!is_of(line->cluster, CLUSTER_MAX, "0123456789abcdef"))
		return "cluster";
	return NULL;
}

static const char *wrong_number(const struct nvml_line *line)
{
	for (const struct json_row *row = line_map; row->type != JSON_ROW_END; row++) {
		const void *at = (const char *)line + row->at;
		int64_t value = 0;

		if (row->type == JSON_ROW_INT)
			value = *(const int *)at;
		else if (row->type == JSON_ROW_INT64)
			value = *(const int64_t *)at;
		if (value < row->absent)
			return row->key;
	}
	return NULL;
}

static const char *missing(const struct nvml_line *line, unsigned needs)
{
	const struct {
		unsigned need;
		const char *name;
		bool is_there;
	} members[] = {
		{ NEEDS_NUMBER, "n", line->number > 0 },
		{ NEEDS_ADDRESS, "address", line->address },
		{ NEEDS_GPU, "address or index", line->address || line->index >= 0 },
		{ NEEDS_UUID, "uuid", line->uuid },
		{ NEEDS_PEER, "peer", line->peer },
		{ NEEDS_TYPE, "type", line->type_text },
		{ NEEDS_CODE, "code", line->code >= 0 },
		{ NEEDS_INSTANCE, "gi or ci", line->gi >= 0 && line->ci >= 0 },
		{ NEEDS_NVLINKS, "nvlinks", line->nvlinks >= 0 },
		{ NEEDS_GPUS, "gpus", line->gpus >= 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		if ((needs & members[i].need) && !members[i].is_there)
			return members[i].name;
	}
	return NULL;
}

/* Find the kind and the event's type, and check all else. */
static int check(struct nvml_line *line, struct err *err)
{
	const char *wrong = NULL;
	unsigned needs = 0;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (strcmp(line->kind_text, kinds[i].name) != 0)
			continue;
		line->kind = kinds[i].kind;
		needs = kinds[i].needs;
	}
	for (size_t i = 0; line->type_text && i < ARRAY_LEN(types); i++) {
		if (strcmp(line->type_text, types[i].name) == 0)
			line->event = types[i].type;
	}
	wrong = wrong_text(line);
	if (!wrong)
		wrong = wrong_number(line);
	if (wrong)
		return err_set(err, ERR_INVALID, -EINVAL,
			       "line '%.32s' of hostdev-nvml: %s has another form than expected",
			       line->kind_text, wrong);
	wrong = missing(line, needs);
	if (wrong)
		return err_set(err, ERR_INVALID, -EINVAL, "line '%.32s' of hostdev-nvml has no %s",
			       line->kind_text, wrong);
	limits_apply(texts, ARRAY_LEN(texts), line);
	return 0;
}

int nvml_line_parse(const char *text, size_t len, struct nvml_line *ret_line, struct err *err)
{
	struct nvml_line line;
	int r;

	if (len > NVML_LINE_MAX)
		return err_set(err, ERR_INVALID, -EMSGSIZE,
			       "line of hostdev-nvml is longer than %d bytes", NVML_LINE_MAX);
	r = json_map_parse(line_map, text, len, &line, err);
	if (r < 0) {
		(void)err_wrap(err, "line of hostdev-nvml");
		return r;
	}
	r = check(&line, err);
	if (r < 0) {
		nvml_line_done(&line);
		return r;
	}
	*ret_line = line;
	return 0;
}

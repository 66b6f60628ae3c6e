#include "agent/hami/hami_register.h"

#include <string.h>

#include "base/json_write.h"
#include "base/mem.h"
#include "base/str.h"

#define MODE   "hami-core"
#define VENDOR "NVIDIA"

/* HAMi's scheduler finds out the vendor of a GPU by the word NVIDIA in its type. */
static char *type_of(const struct hami_gpu *gpu, enum hami_form form)
{
	const char *name = gpu->name ? gpu->name : "GPU";
	bool plain = form == HAMI_FORM_JSON && strncmp(name, VENDOR, strlen(VENDOR)) == 0;
	char *type = xasprintf("%s%s", plain ? "" : VENDOR "-", name);

	/* All releases separate fields, GPUs and containers by these. */
	for (char *c = strpbrk(type, ",:;"); c; c = strpbrk(c, ",:;"))
		*c = ' ';
	return type;
}

static void write_json(const struct hami_gpu *gpu, struct str *out)
{
	auto_free char *type = type_of(gpu, HAMI_FORM_JSON);

	json_write_open(out, NULL, '{');
	json_write_str(out, "id", gpu->uuid);
	if (gpu->index > 0)
		json_write_int(out, "index", gpu->index);
	json_write_int(out, "count", gpu->count);
	json_write_int(out, "devmem", (int64_t)gpu->memory_mib);
	json_write_int(out, "devcore", (int64_t)gpu->cores);
	json_write_str(out, "type", type);
	if (gpu->numa_node > 0)
		json_write_int(out, "numa", gpu->numa_node);
	json_write_str(out, "mode", MODE);
	json_write_bool(out, "health", !gpu->trouble);
	json_write_str(out, "devicevendor", VENDOR);
	json_write_close(out, '}');
}

static void write_text(const struct hami_gpu *gpu, struct str *out)
{
	auto_free char *type = type_of(gpu, HAMI_FORM_TEXT);

	str_addf(out, "%s,%u,%llu,%llu,", gpu->uuid, gpu->count,
		 (unsigned long long)gpu->memory_mib, (unsigned long long)gpu->cores);
	str_add_clean(out, type, strlen(type));
	str_addf(out, ",%d,%s,%d," MODE ":", gpu->numa_node > 0 ? gpu->numa_node : 0,
		 gpu->trouble ? "false" : "true", gpu->index > 0 ? gpu->index : 0);
}

void hami_register_write(const struct hami_gpu *gpus, size_t len, enum hami_form form,
			 struct str *out)
{
	bool json = form == HAMI_FORM_JSON;

	if (json)
		json_write_open(out, NULL, '[');
	for (size_t i = 0; i < len; i++) {
		if (json)
			write_json(&gpus[i], out);
		else
			write_text(&gpus[i], out);
	}
	if (json)
		json_write_close(out, ']');
}

enum hami_form hami_register_form(const char *text)
{
	if (!text || !*text)
		return HAMI_FORM_AUTO;
	return *text == '[' ? HAMI_FORM_JSON : HAMI_FORM_TEXT;
}

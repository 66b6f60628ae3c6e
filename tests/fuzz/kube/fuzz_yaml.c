/* Any text: no crash, no blow-up; what is read can be written, and reads the same again. */
#include <assert.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "kube/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_str struct str text = STR_INIT;
	json_t *value = NULL;
	json_t *again = NULL;
	struct err err = { 0 };

	if (yaml_parse("input", (const char *)data, size, &value, &err) < 0) {
		assert(err.kind == ERR_INVALID && err.code < 0 && err.msg[0]);
		return 0;
	}
	yaml_write(value, &text);
	if (yaml_parse("written", str_cstr(&text), text.len, &again, &err) == 0)
		assert(json_equal(value, again));
	else
		assert(text.len > YAML_TEXT_MAX); /* only the size can have changed for the worse */
	json_decref(value);
	json_decref(again);
	return 0;
}

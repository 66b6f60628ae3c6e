/* fuzz_question: any bytes as a question to hostdev-nvml. What is taken has a number, a verb, and
 * addresses that can be asked for. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/nvml/ask.h"
#include "base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct question question;
	struct err err = { 0 };

	if (question_parse((const char *)data, size, &question, &err) < 0) {
		assert(err.kind == ERR_INVALID && question.number >= 0);
		return 0;
	}
	assert(question.number > 0 && question.verb <= QUESTION_PROBE);
	assert(question.addresses.len <= NVML_GPUS_MAX);
	for (size_t i = 0; i < question.addresses.len; i++)
		assert(nvml_is_address(question.addresses.items[i]));
	return 0;
}

#include "agent/nvml/ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/nvml/inventory.h"
#include "agent/nvml/nvml.h"
#include "agent/nvml/release.h"
#include "agent/nvml/reply.h"
#include "agent/nvml/topology.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/lines.h"
#include "base/mem.h"
#include "base/num.h"

static const char *const verbs[] = {
	[QUESTION_INVENTORY] = "inventory", [QUESTION_TOPOLOGY] = "topology",
	[QUESTION_PROBE] = "probe",         [QUESTION_RELEASE] = "release",
	[QUESTION_ATTACH] = "attach",
};

static bool take_number(struct json_read *r, int64_t *ret_number)
{
	struct json_text text;
	char copy[24] = "";
	int64_t number;

	if (!json_read_value(r, &text) || text.len >= sizeof(copy))
		return false;
	memcpy(copy, text.text, text.len);
	if (!str_to_i64(copy, &number) || number < 1)
		return false;
	*ret_number = number;
	return true;
}

static bool take_verb(struct json_read *r, enum question_verb *ret_verb)
{
	struct json_text text;

	if (json_read_peek(r) != '"' || !json_read_string(r, &text))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		if (json_text_is(&text, verbs[i])) {
			*ret_verb = (enum question_verb)i;
			return true;
		}
	}
	return false;
}

static bool take_bool(struct json_read *r, bool *ret_value)
{
	struct json_text text;

	if (!json_read_value(r, &text))
		return false;
	*ret_value = json_text_is(&text, "true");
	return *ret_value || json_text_is(&text, "false");
}

static bool take_addresses(struct json_read *r, struct gpu_addresses *addresses)
{
	if (json_read_peek(r) != '[' || !json_read_open(r, '['))
		return false;
	addresses->len = 0;
	while (json_read_item(r)) {
		struct json_text text;
		char *address;

		if (addresses->len == NVML_GPUS_MAX || json_read_peek(r) != '"' ||
		    !json_read_string(r, &text) || text.len >= NVML_ADDRESS_SIZE)
			return false;
		address = addresses->items[addresses->len++];
		memcpy(address, text.text, text.len);
		address[text.len] = '\0';
		if (!nvml_is_address(address))
			return false;
	}
	return !r->failed;
}

int question_parse(const char *line, size_t len, struct question *ret_question, struct err *err)
{
	struct json_read r = json_read_start(line, len);
	struct question *q = ret_question;
	struct json_text key;
	bool has_verb = false;
	bool fine;

	q->number = 0;
	q->verb = QUESTION_INVENTORY;
	q->addresses.len = 0;
	q->persistence = false;
	fine = json_read_peek(&r) == '{' && json_read_open(&r, '{');
	while (fine && json_read_member(&r, &key)) {
		if (json_text_is(&key, "n"))
			fine = take_number(&r, &q->number);
		else if (json_text_is(&key, "ask"))
			fine = has_verb = take_verb(&r, &q->verb);
		else if (json_text_is(&key, "gpus"))
			fine = take_addresses(&r, &q->addresses);
		else if (json_text_is(&key, "persistence"))
			fine = take_bool(&r, &q->persistence);
		else
			fine = json_read_value(&r, NULL);
	}
	if (fine && has_verb && q->number > 0 && json_read_end(&r))
		return 0;
	return err_set(err, ERR_INVALID, -EINVAL,
		       "not a question: '%.*s'; expected "
		       "{\"n\":NUMBER,\"ask\":\"inventory\"|\"topology\"|\"probe\"|\"release\"|"
		       "\"attach\",\"gpus\":[ADDRESS...],\"persistence\":BOOL}",
		       len < 80 ? (int)len : 80, line);
}

struct asked {
	const struct nvml_place *place;
	struct nvml nvml;
	struct reply reply;
};

static void answer_question(const struct nvml *nvml, const struct question *question,
			    struct reply *reply)
{
	const struct gpu_addresses *addresses = &question->addresses;

	switch (question->verb) {
	case QUESTION_INVENTORY:
		inventory_reply(nvml, addresses, reply);
		return;
	case QUESTION_TOPOLOGY:
		topology_reply(nvml, addresses, reply);
		return;
	case QUESTION_PROBE:
		inventory_probe(nvml, addresses, reply);
		return;
	case QUESTION_RELEASE:
		release_reply(nvml, addresses, reply);
		return;
	case QUESTION_ATTACH:
		attach_reply(nvml, addresses, question->persistence, reply);
		return;
	}
}

static int answer(void *arg, const char *line, size_t len, struct err *err)
{
	struct asked *asked = arg;
	struct reply *reply = &asked->reply;
	struct question question;

	if (len == 0)
		return 0;
	if (question_parse(line, len, &question, err) < 0) {
		reply->number = question.number;
		reply_failed(reply, NULL, NVML_INVALID_ARGUMENT, err->msg);
	} else {
		reply->number = question.number;
		if (nvml_begin(&asked->nvml, asked->place, reply)) {
			answer_question(&asked->nvml, &question, reply);
			(void)asked->nvml.Shutdown();
			reply_end(reply);
		}
	}
	return reply->broken ? err_set(err, ERR_RETRY, -EPIPE, "write an answer") : 0;
}

int ask_run(const struct nvml_place *place, int fd)
{
	struct asked asked = { .place = place, .reply = { .fd = fd } };
	struct lines lines = { .max = QUESTION_SIZE_MAX };
	struct err err = { 0 };
	char data[4096];
	ssize_t n;
	int r = 0;

	while (r == 0) {
		n = read(STDIN_FILENO, data, sizeof(data));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		r = lines_feed(&lines, data, (size_t)n, answer, &asked, &err);
	}
	if (r < 0 && !asked.reply.broken)
		(void)fprintf(stderr, "hostdev-nvml: standard input: %s\n", err.msg);
	lines_done(&lines);
	str_done(&asked.reply.out);
	return r < 0 && !asked.reply.broken ? EXIT_FAILURE : EXIT_SUCCESS;
}

#include "agent/nvml/reply.h"

#include "agent/nvml/nvml.h"
#include "base/file.h"
#include "base/json_write.h"
#include "base/mem.h"

void reply_open(const struct reply *reply, struct str *line, const char *kind)
{
	json_write_open(line, NULL, '{');
	json_write_str(line, "kind", kind);
	if (reply->number > 0)
		json_write_int(line, "n", reply->number);
}

void reply_close(struct str *line)
{
	json_write_close(line, '}');
	str_add_char(line, '\n');
}

static void add_code(struct reply *reply, const char *function, int code, const char *message)
{
	auto_free char *name = function ? xasprintf("nvml%s", function) : NULL;

	if (name)
		json_write_str(&reply->out, "function", name);
	json_write_int(&reply->out, "code", code);
	json_write_str(&reply->out, "message", message ? message : nvml_meaning(code));
	reply_close(&reply->out);
}

static void add_gpu(struct reply *reply, const char *address, int index)
{
	if (address)
		json_write_str(&reply->out, "address", address);
	else if (index >= 0)
		json_write_int(&reply->out, "index", index);
}

void reply_problem(struct reply *reply, const char *address, int index, const char *function,
		   int code)
{
	reply_open(reply, &reply->out, "problem");
	add_gpu(reply, address, index);
	add_code(reply, function, code, NULL);
}

void reply_failed(struct reply *reply, const char *function, int code, const char *message)
{
	reply_open(reply, &reply->out, "failed");
	add_code(reply, function, code, message);
	reply_flush(reply);
}

void reply_at(struct reply *reply, const char *address, int index)
{
	reply_open(reply, &reply->out, "at");
	add_gpu(reply, address, index);
	reply_close(&reply->out);
	reply_flush(reply);
}

void reply_end(struct reply *reply)
{
	reply_open(reply, &reply->out, "end");
	reply_close(&reply->out);
	reply_flush(reply);
}

void reply_flush(struct reply *reply)
{
	if (reply->out.len == 0)
		return;
	if (file_write_all(reply->fd, reply->out.buf, reply->out.len) < 0)
		reply->broken = true;
	str_clear(&reply->out);
}

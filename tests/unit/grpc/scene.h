/* scene: the server's engine and a client that writes frames by hand. */
#pragma once

#include "unit/grpc/pair.h"
#include "unit/grpc/wire.h"

#define SCENE_ECHO "/test.Test/Echo"

/* What stream 1 is answered with. */
#define SCENE_HEAD   "HEADERS 1 :status=200 content-type=application/grpc"
#define SCENE_ONLY   SCENE_HEAD " grpc-accept-encoding=identity"
#define SCENE_ECHOED SCENE_HEAD "|DATA 1 7|HEADERS 1 grpc-status=0.|"
#define SCENE_RST    "RST 1 0|"

/* One server, and what it did. */
struct scene {
	struct pair pair; /* its service and log; without its client */
	struct str in;
	struct wire_reader reader;
	struct err err;
	int result;
};

static inline struct scene *scene_new(const struct grpc_limits *limits)
{
	struct scene *scene = xcalloc(1, sizeof(*scene));

	scene->pair.server_limits = *limits;
	pair_start(&scene->pair);
	wire_reader_init(&scene->reader);
	return scene;
}

static inline void scene_free(struct scene *scene)
{
	wire_reader_done(&scene->reader);
	str_done(&scene->in);
	pair_done(&scene->pair);
	free(scene);
}

static inline void scene_read(struct scene *scene)
{
	auto_str struct str out = STR_INIT;
	const char *data = NULL;
	size_t n;

	while ((n = grpc_session_output(grpc_server_session(scene->pair.server), &data)) > 0)
		str_add_mem(&out, data, n);
	if (out.len > 0)
		wire_read(&scene->reader, &out);
}

/* Give the server what was written, at most @chunk bytes at a time, and read its answer. */
static inline void scene_play(struct scene *scene, size_t chunk)
{
	for (size_t at = 0; at < scene->in.len && scene->result == 0; at += chunk) {
		size_t n = scene->in.len - at < chunk ? scene->in.len - at : chunk;

		scene->result =
			grpc_session_feed(grpc_server_session(scene->pair.server),
					  scene->in.buf + at, n, scene->pair.now_ms, &scene->err);
		scene_read(scene);
	}
	str_clear(&scene->in);
}

static inline void scene_saw(struct scene *scene, const char *text)
{
	assert_string_equal(str_cstr(&scene->reader.log), text);
	str_clear(&scene->reader.log);
}

static inline void scene_write_plain(struct str *out)
{
	wire_request(out, 1, SCENE_ECHO);
	wire_message(out, 1, WIRE_END_STREAM, 0, "hi");
}

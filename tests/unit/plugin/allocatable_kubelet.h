/* allocatable_kubelet: a kubelet that says which devices pods can get. */
#pragma once

#include <string.h>

#include "agent/plugin/podresources_codec.h"
#include "base/mem.h"
#include "base/str.h"
#include "grpc/message.h"
#include "grpc/uv_server.h"
#include "proto/podresources.pb-c.h"
#include "unit/suite.h"

enum { ALLOCATABLE_KUBELET_MAX = 4 };

struct allocatable_kubelet {
	/* "RESOURCE DEVICE,RESOURCE DEVICE"; "" none, "?" an answer that cannot be read, NULL no
	 * answer */
	const char *lists;
	unsigned asked;
	struct grpc_service service;
	struct grpc_uv_server *server;
};

/* Append the answer that lists these. */
static inline void allocatable_kubelet_pack(const char *lists, struct str *out)
{
	V1__AllocatableResourcesResponse answer = V1__ALLOCATABLE_RESOURCES_RESPONSE__INIT;
	V1__ContainerDevices groups[ALLOCATABLE_KUBELET_MAX];
	V1__ContainerDevices *pointers[ALLOCATABLE_KUBELET_MAX];
	char *ids[ALLOCATABLE_KUBELET_MAX];
	auto_free char *copy = xstrdup(lists);
	char *rest = copy;
	char *part;

	answer.devices = pointers;
	while ((part = strsep(&rest, ",")) && *part) {
		size_t i = answer.n_devices++;

		assert_in_range(i, 0, ALLOCATABLE_KUBELET_MAX - 1);
		pointers[i] = &groups[i];
		v1__container_devices__init(&groups[i]);
		groups[i].resource_name = strsep(&part, " ");
		ids[i] = part;
		groups[i].device_ids = &ids[i];
		groups[i].n_device_ids = 1;
	}
	assert_int_equal(grpc_message_pack(&answer.base, SIZE_MAX, out, NULL), 0);
}

static inline void allocatable_kubelet_answer(void *arg, struct grpc_call *call,
					      const char *request, size_t len)
{
	struct allocatable_kubelet *kubelet = arg;
	auto_str struct str message = STR_INIT;

	(void)request;
	assert_int_equal(len, 0);
	kubelet->asked++;
	if (!kubelet->lists)
		return;
	if (strcmp(kubelet->lists, "?") == 0)
		str_add(&message, "\xff");
	else
		allocatable_kubelet_pack(kubelet->lists, &message);
	grpc_call_answer(call, str_cstr(&message), message.len);
}

static inline void allocatable_kubelet_start(struct allocatable_kubelet *kubelet,
					     struct uv_loop_s *loop, const char *path)
{
	static const struct grpc_method methods[] = {
		{ PODRESOURCES_ALLOCATABLE_PATH, allocatable_kubelet_answer },
	};

	kubelet->service = (struct grpc_service){ methods, 1, kubelet };
	assert_int_equal(grpc_uv_server_new(loop,
					    &(struct grpc_uv_server_settings){
						    .path = path, .service = &kubelet->service },
					    &kubelet->server, NULL),
			 0);
}

/* The loop must run once more. */
static inline void allocatable_kubelet_stop(struct allocatable_kubelet *kubelet)
{
	kubelet->server = grpc_uv_server_free(kubelet->server);
}

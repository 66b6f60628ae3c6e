/*
 * vf_message: rtnetlink's words for the virtual functions of a network interface, as bytes. No I/O.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/helper/vf/vf_setting.h"

struct err;

enum { VF_MESSAGE_MAX = 256 }; /* bytes of a request */

struct vf_message {
	unsigned char data[VF_MESSAGE_MAX];
	size_t len;
};

/* Ask for the virtual functions of the interface @ifindex, without their counters. */
void vf_message_ask(struct vf_message *message, int ifindex, uint32_t seq);

/* Apply @want to @field of a virtual function. */
void vf_message_set(struct vf_message *message, int ifindex, uint32_t seq,
		    const struct vf_setting *want, enum vf_field field);

/* Read an answer. The caller releases the settings. */
struct vf_reply {
	struct vf_settings settings;
	int code; /* 0 or -errno */
};

/* What an answer is. */
enum vf_answer {
	VF_ANSWER_LINK,  /* the interface: the reply has the settings of its virtual functions */
	VF_ANSWER_DONE,  /* it was carried out, or refused: the reply has the code */
	VF_ANSWER_OTHER, /* to something else: read on                                         */
};

/*
 * Take the answer to the request @seq for the interface @name. < 0 with @err (ERR_RETRY, -EBADMSG;
 * -ENODEV if it is about another interface) for bytes that are none. Settings are
 * added to the reply only with VF_ANSWER_LINK.
 */
int vf_message_take(const void *data, size_t len, uint32_t seq, const char *name,
		    struct vf_reply *reply, struct err *err);

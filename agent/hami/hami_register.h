/*
 * hami_register: the list of a node's GPUs in its annotation hami.io/node-nvidia-register, as HAMi's
 * scheduler reads it. Pure.
 *
 * Releases from 2.8 on read JSON only:
 *
 *	[{"id":"GPU-...","index":1,"count":10,"devmem":15360,"devcore":100,"type":"NVIDIA A2","numa":1,
 *	  "mode":"hami-core","health":true,"devicevendor":"NVIDIA"}]
 *
 * where a missing member is 0 or false. Earlier ones read text only: "id,count,devmem,devcore,type,
 * numa,health,index,mode:" for each GPU; one field that they cannot read costs them the whole list.
 * The same GPUs always give the same text: a scheduler looks again at a node whose text changed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct str;

#define HAMI_REGISTER "hami.io/node-nvidia-register"

enum hami_form {
	HAMI_FORM_AUTO, /* the one that the annotation has now; JSON if there is none */
	HAMI_FORM_TEXT, /* of HAMi up to 2.7 */
	HAMI_FORM_JSON, /* from 2.8 on */
};

/* Texts are borrowed. */
struct hami_gpu {
	const char *uuid;
	const char *name;    /* its model; NULL: unknown */
	int index;           /* NVML's; -1: unknown      */
	int numa_node;       /* -1: unknown              */
	unsigned count;      /* of containers that may have it at a time */
	uint64_t memory_mib; /* that may be handed out, after scaling    */
	uint64_t cores;      /* percent of it, likewise                  */
	const char *trouble; /* why it is not healthy; NULL: it is */
};

/* Append the list of @gpus in @form, which is not HAMI_FORM_AUTO. */
void hami_register_write(const struct hami_gpu *gpus, size_t len, enum hami_form form,
			 struct str *out);

/* The form of the annotation @text; HAMI_FORM_AUTO: of none, for it is NULL or empty. */
enum hami_form hami_register_form(const char *text);

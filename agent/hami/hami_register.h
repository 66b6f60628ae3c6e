/*
 * hami_register: the list of a node's GPUs that HAMi's scheduler reads in the annotation
 * hami.io/node-nvidia-register. Pure.
 *
 * The scheduler reads only JSON since 2.8. A missing member is 0 or false:
 *
 *	[{"id":"GPU-...","index":1,"count":10,"devmem":15360,"devcore":100,"type":"NVIDIA A2",
 *	  "numa":1,"mode":"hami-core","health":true,"devicevendor":"NVIDIA"}]
 *
 * Earlier releases read only text, "id,count,devmem,devcore,type,numa,health,index,mode:" for each
 * GPU, and drop the whole list if they cannot read one field. The same GPUs always give the same
 * text, because a change makes the scheduler read the node again.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct str;

#define HAMI_REGISTER "hami.io/node-nvidia-register"

enum hami_form {
	HAMI_FORM_AUTO, /* that of the present annotation; JSON if there is none */
	HAMI_FORM_TEXT, /* for HAMi up to 2.7   */
	HAMI_FORM_JSON, /* for HAMi 2.8 and later */
};

/* The strings are borrowed. */
struct hami_gpu {
	const char *uuid;
	const char *name;    /* its model; NULL: unknown */
	int index;           /* NVML's; -1: unknown      */
	int numa_node;       /* -1: unknown              */
	unsigned count;      /* how many containers may share it  */
	uint64_t memory_mib; /* allocatable memory, after scaling */
	uint64_t cores;      /* allocatable percent, likewise     */
	const char *trouble; /* why it is unhealthy; NULL: healthy */
};

/* Append the list of @gpus in @form, which is not HAMI_FORM_AUTO. */
void hami_register_write(const struct hami_gpu *gpus, size_t len, enum hami_form form,
			 struct str *out);

/* The form of the annotation @text; HAMI_FORM_AUTO if @text is NULL or empty. */
enum hami_form hami_register_form(const char *text);

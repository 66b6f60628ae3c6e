#include "agent/gpu/mig_look.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"

enum { QUOTED_MAX = 120 };

void mig_look_args(enum mig_question question, const char *address,
		   const char *ret_args[MIG_ARGS_MAX])
{
	static const char *const lists[MIG_QUESTIONS] = {
		[MIG_ASK_PROFILES] = "-lgip",
		[MIG_ASK_INSTANCES] = "-lgi",
		[MIG_ASK_COMPUTES] = "-lci",
	};
	size_t n = 0;

	if (question == MIG_ASK_MODE) {
		ret_args[n++] = "-i";
		ret_args[n++] = address;
		ret_args[n++] = "--query-gpu=mig.mode.current";
		ret_args[n++] = "--format=csv,noheader";
	} else {
		ret_args[n++] = "mig";
		ret_args[n++] = "-i";
		ret_args[n++] = address;
		ret_args[n++] = lists[question];
	}
	ret_args[n] = NULL;
}

/* The first line of @text, short and clean. */
static int refuse(struct err *err, const char *what, const char *text, size_t len)
{
	auto_str struct str line = STR_INIT;
	const char *end = memchr(text, '\n', len);

	str_add_clean(&line, text, end ? (size_t)(end - text) : len);
	str_cut(&line, QUOTED_MAX);
	return err_set(err, ERR_RETRY, -EBADMSG, "nvidia-smi does not say %s: '%s'", what,
		       str_cstr(&line));
}

static int take(struct mig_look *look, enum mig_question question, const char *text, size_t len,
		bool failed, struct err *err)
{
	bool none = failed && smi_says_none(text, len);

	switch (question) {
	case MIG_ASK_MODE:
		look->mode = failed ? SMI_MODE_UNKNOWN : smi_mode_parse(text, len);
		return look->mode == SMI_MODE_UNKNOWN
			       ? refuse(err, "which MIG mode the card has", text, len)
			       : 0;
	case MIG_ASK_PROFILES:
		smi_profiles_parse(text, len, &look->profiles);
		return failed || look->profiles.len == 0
			       ? refuse(err, "which MIG profiles the card has", text, len)
			       : 0;
	case MIG_ASK_INSTANCES:
		smi_instances_parse(text, len, &look->instances);
		return failed && !none ? refuse(err, "which GPU instances there are", text, len)
				       : 0;
	case MIG_ASK_COMPUTES:
		smi_computes_parse(text, len, &look->computes);
		return failed && !none ? refuse(err, "which compute instances there are", text, len)
				       : 0;
	}
	return 0;
}

bool mig_look_take(struct mig_look *look, enum mig_question question, const char *text, size_t len,
		   bool failed, struct err *err)
{
	if (take(look, question, text, len, failed, err) < 0)
		return false;
	if (question == MIG_ASK_MODE && look->mode == SMI_MODE_NONE) {
		look->known = true;
		return false;
	}
	/* There is nothing in a card whose mode is off. */
	if (question == MIG_ASK_COMPUTES ||
	    (question == MIG_ASK_PROFILES && look->mode == SMI_MODE_DISABLED)) {
		look->known = true;
		return false;
	}
	return true;
}

void mig_look_done(struct mig_look *look)
{
	array_done(&look->profiles);
	array_done(&look->instances);
	array_done(&look->computes);
	*look = (struct mig_look){ 0 };
}

#include "agent/hami/hami_request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"

#define VENDOR "NVIDIA"

enum {
	FIELDS = 4, /* UUID, type, MiB, percent */
	UUID_MAX = 95,
	MIB_MAX = 1 << 30,
	PERCENT_MAX = 100000,
};

/* --- reading ---------------------------------------------------------------------------------- */

static bool is_uuid(const char *text)
{
	static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ-";

	return strncmp(text, "GPU-", 4) == 0 && text[4] && strlen(text) <= UUID_MAX &&
	       text[strspn(text, letters)] == '\0';
}

/* Split @text, in place, at its commas. False: not FIELDS fields. */
static bool split(char *text, char *fields[FIELDS])
{
	size_t len = 0;
	char *field;

	while ((field = strsep(&text, ","))) {
		if (len == FIELDS)
			return false;
		fields[len++] = field;
	}
	return len == FIELDS;
}

/* "GPU-a,NVIDIA,3000,30" */
static int take_share(const char *text, struct hami_entry *entry, struct err *err)
{
	auto_free char *copy = xstrdup(text);
	char *f[FIELDS];
	uint64_t mib;
	uint64_t cores;

	if (!split(copy, f))
		return err_set(err, ERR_INVALID, -EINVAL,
			       "expected UUID,TYPE,MEMORY,CORES, got '%.80s'", text);
	if (strchr(f[0], '[')) /* "GPU-a[0-1]" */
		return err_set(
			err, ERR_INVALID, -EINVAL,
			"a part of a GPU in MIG mode, which this node does not offer: '%.80s'",
			f[0]);
	if (!is_uuid(f[0]))
		return err_set(err, ERR_INVALID, -EINVAL, "not the UUID of a GPU: '%.96s'", f[0]);
	if (strncmp(f[1], VENDOR, strlen(VENDOR)) != 0)
		return err_set(err, ERR_INVALID, -EINVAL, "not a GPU of NVIDIA: '%.64s'", f[1]);
	if (!str_to_u64(f[2], &mib) || mib == 0 || mib > MIB_MAX)
		return err_set(err, ERR_INVALID, -EINVAL, "not a size of memory in MiB: '%.32s'",
			       f[2]);
	if (!str_to_u64(f[3], &cores) || cores > PERCENT_MAX)
		return err_set(err, ERR_INVALID, -EINVAL, "not a percentage of a GPU: '%.32s'",
			       f[3]);
	for (size_t i = 0; i < entry->len; i++) {
		if (strcmp(entry->items[i].uuid, f[0]) == 0)
			return err_set(err, ERR_INVALID, -EINVAL,
				       "'%.96s' is there twice for one container", f[0]);
	}
	if (entry->len == HAMI_SHARES_MAX)
		return err_set(err, ERR_INVALID, -EINVAL, "more than %d GPUs for one container",
			       HAMI_SHARES_MAX);
	*array_add(entry) =
		(struct hami_share){ .uuid = xstrdup(f[0]), .memory_mib = mib, .cores = cores };
	return 0;
}

/* Each share ends in ':'. */
static int take_entry(const char *text, struct hami_entry *entry, struct err *err)
{
	auto_free char *copy = xstrdup(text);
	char *rest = copy;
	char *part;

	entry->blank = strcmp(text, ",,0,0:") == 0;
	if (entry->blank || !*text)
		return 0;
	while ((part = strsep(&rest, ":"))) {
		if (!rest && !*part)
			return 0;
		if (take_share(part, entry, err) < 0)
			return err->code;
	}
	return 0;
}

static int take_entries(struct hami_request *request, struct err *err)
{
	size_t at = 0;

	while (request->text[at]) {
		size_t len = strcspn(request->text + at, ";");
		auto_free char *part = xstrndup(request->text + at, len);
		struct hami_entry *entry;

		if (!request->text[at + len])
			return err_set(err, ERR_INVALID, -EINVAL, "it does not end in ';'");
		if (request->len == HAMI_ENTRIES_MAX)
			return err_set(err, ERR_INVALID, -EINVAL, "more than %d containers",
				       HAMI_ENTRIES_MAX);
		entry = array_add(request);
		entry->at = at;
		entry->end = at + len;
		if (take_entry(part, entry, err) < 0)
			return err_wrap(err, "entry %zu", request->len);
		at += len + 1;
	}
	return 0;
}

int hami_request_parse(const char *text, struct hami_request *ret_request, struct err *err)
{
	struct hami_request request = { 0 };

	if (!text)
		return err_set(err, ERR_INVALID, -EINVAL,
			       "the pod has no annotation " HAMI_TO_ALLOCATE);
	if (strlen(text) > HAMI_TEXT_MAX)
		return err_set(err, ERR_INVALID, -EFBIG, HAMI_TO_ALLOCATE " has more than %d bytes",
			       HAMI_TEXT_MAX);
	request.text = xstrdup(text);
	if (take_entries(&request, err) < 0) {
		hami_request_done(&request);
		return err_wrap(err, HAMI_TO_ALLOCATE);
	}
	*ret_request = request;
	return 0;
}

void hami_request_done(struct hami_request *request)
{
	for (size_t i = 0; i < request->len; i++) {
		for (size_t k = 0; k < request->items[i].len; k++)
			free(request->items[i].items[k].uuid);
		array_done(&request->items[i]);
	}
	array_done(request);
	free(request->text);
	*request = (struct hami_request){ 0 };
}

/* --- which is next ---------------------------------------------------------------------------- */

/* How many entries that are not blank come before @i. */
static size_t rank(const struct hami_request *request, size_t i)
{
	size_t n = 0;

	for (size_t k = 0; k < i; k++)
		n += !request->items[k].blank;
	return n;
}

/* The @n-th container that requests GPUs; @len: there are not so many. */
static size_t find_requester(const struct hami_requester *requesters, size_t len, size_t n)
{
	for (size_t i = 0; i < len; i++) {
		if (requesters[i].requests > 0 && n-- == 0)
			return i;
	}
	return len;
}

static size_t count_requesters(const struct hami_requester *requesters, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += requesters[i].requests > 0;
	return n;
}

/* An emptied entry keeps its place, so these numbers do not change from one call to the next. */
static int find_container(const struct hami_request *request, size_t entry,
			  const struct hami_requester *requesters, size_t len,
			  size_t *ret_requester, struct err *err)
{
	size_t requesting = count_requesters(requesters, len);

	if (request->len == len)
		*ret_requester = entry;
	else if (rank(request, request->len) == requesting)
		*ret_requester = find_requester(requesters, len, rank(request, entry));
	else
		return err_set(
			err, ERR_INVALID, -EINVAL,
			HAMI_TO_ALLOCATE
			" has %zu entries, the pod %zu containers, of which %zu request GPUs",
			request->len, len, requesting);
	return 0;
}

static int check_numbers(const struct hami_requester *requester, size_t chosen, size_t wanted,
			 struct err *err)
{
	if (requester->requests == 0)
		return err_set(err, ERR_INVALID, -EINVAL,
			       HAMI_TO_ALLOCATE
			       " has GPUs for the container '%.64s', which requests none",
			       requester->name);
	if (requester->requests != wanted || chosen != wanted)
		return err_set(err, ERR_INVALID, -ESTALE,
			       "the kubelet requests %zu GPUs, the next container, '%.64s', %llu, "
			       "and HAMi's scheduler has chosen %zu for it",
			       wanted, requester->name, (unsigned long long)requester->requests,
			       chosen);
	return 0;
}

int hami_request_next(const struct hami_request *request, const struct hami_requester *requesters,
		      size_t len, size_t wanted, struct hami_next *ret_next, struct err *err)
{
	struct hami_next next = { 0 };

	while (next.entry < request->len && request->items[next.entry].len == 0)
		next.entry++;
	if (next.entry == request->len)
		return err_set(err, ERR_INVALID, -ENODATA,
			       "all of " HAMI_TO_ALLOCATE " has been allocated");
	if (find_container(request, next.entry, requesters, len, &next.requester, err) < 0 ||
	    check_numbers(&requesters[next.requester], request->items[next.entry].len, wanted,
			  err) < 0)
		return err->code;
	*ret_next = next;
	return 0;
}

char *hami_request_without(const struct hami_request *request, size_t i)
{
	const struct hami_entry *entry = &request->items[i];

	return xasprintf("%.*s%s", (int)entry->at, request->text, request->text + entry->end);
}

bool hami_request_has_more(const struct hami_request *request, size_t i)
{
	for (size_t k = 0; k < request->len; k++) {
		if (k != i && request->items[k].len > 0)
			return true;
	}
	return false;
}

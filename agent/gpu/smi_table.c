#include "agent/gpu/smi_table.h"

#include <errno.h>
#include <string.h>

#include "base/ascii.h"
#include "base/err.h"
#include "base/str.h"

enum { QUOTED_MAX = 120 };

/* The words of one row, from left to right. */
struct words {
	const char *at;
	const char *end;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '|';
}

/* False at the end of the row. */
static bool next_word(struct words *w, const char **ret_word, size_t *ret_len)
{
	while (w->at < w->end && is_blank(*w->at))
		w->at++;
	*ret_word = w->at;
	while (w->at < w->end && !is_blank(*w->at))
		w->at++;
	*ret_len = (size_t)(w->at - *ret_word);
	return *ret_len > 0;
}

/* Digits only, all of @text. */
static bool take_digits(const char *text, size_t len, int *ret_number)
{
	int number = 0;

	if (len == 0)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9' || number > SMI_NUMBER_MAX)
			return false;
		number = number * 10 + (text[i] - '0');
	}
	if (number > SMI_NUMBER_MAX)
		return false;
	*ret_number = number;
	return true;
}

static bool take_number(struct words *w, int *ret_number)
{
	const char *word;
	size_t len;

	return next_word(w, &word, &len) && take_digits(word, len, ret_number);
}

/* Two numbers around @between: "7/7", "4:4". */
static bool take_pair(struct words *w, char between, int *ret_left, int *ret_right)
{
	const char *word;
	const char *middle;
	size_t len;
	int left;
	int right;

	if (!next_word(w, &word, &len))
		return false;
	middle = memchr(word, between, len);
	if (!middle || !take_digits(word, (size_t)(middle - word), &left) ||
	    !take_digits(middle + 1, len - (size_t)(middle + 1 - word), &right))
		return false;
	*ret_left = left;
	*ret_right = right;
	return true;
}

static bool is_name_char(char c)
{
	return ascii_is_alnum(c) || (c && strchr("._+-", c));
}

/* "MIG 1g.5gb", the two words with one blank between them. */
static bool take_name(struct words *w, char ret_name[SMI_NAME_SIZE])
{
	const char *word;
	size_t len;

	if (!next_word(w, &word, &len) || len != 3 || memcmp(word, "MIG", 3) != 0)
		return false;
	if (!next_word(w, &word, &len) || len + sizeof("MIG ") > SMI_NAME_SIZE)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!is_name_char(word[i]))
			return false;
	}
	memcpy(ret_name, "MIG ", 4);
	memcpy(ret_name + 4, word, len);
	ret_name[4 + len] = '\0';
	return true;
}

/* "19.62" GiB; 0 for what is no such number. */
static int take_memory(struct words *w)
{
	const char *word;
	const char *point;
	size_t len;
	int whole;
	int part = 0;
	size_t digits;

	if (!next_word(w, &word, &len))
		return 0;
	point = memchr(word, '.', len);
	if (!take_digits(word, point ? (size_t)(point - word) : len, &whole))
		return 0;
	digits = point ? len - (size_t)(point + 1 - word) : 0;
	if (point && (digits > 2 || !take_digits(point + 1, digits, &part)))
		return 0;
	if (digits == 1)
		part *= 10;
	return whole * 1024 + part * 1024 / 100;
}

typedef void row_fn(struct words *w, void *list);

/* @fn gets each line that begins with the number of a card, behind that. */
static void each_row(const char *text, size_t len, row_fn *fn, void *list)
{
	const char *end = text + (len < SMI_TEXT_MAX ? len : SMI_TEXT_MAX);

	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		struct words w = { text, stop ? stop : end };
		int card;

		text = stop ? stop + 1 : end;
		if (take_number(&w, &card))
			fn(&w, list);
	}
}

static void take_profile(struct words *w, void *list)
{
	struct smi_profiles *profiles = list;
	struct smi_profile row = { 0 };

	if (profiles->len >= SMI_ROWS_MAX || !take_name(w, row.name) || !take_number(w, &row.id) ||
	    !take_pair(w, '/', &row.available, &row.total))
		return;
	row.memory_mib = take_memory(w);
	*array_add(profiles) = row;
}

void smi_profiles_parse(const char *text, size_t len, struct smi_profiles *profiles)
{
	each_row(text, len, take_profile, profiles);
}

static void take_instance(struct words *w, void *list)
{
	struct smi_instances *instances = list;
	struct smi_instance row = { .start = -1, .size = -1 };

	if (instances->len >= SMI_ROWS_MAX || !take_name(w, row.name) ||
	    !take_number(w, &row.profile) || !take_number(w, &row.id))
		return;
	(void)take_pair(w, ':', &row.start, &row.size);
	*array_add(instances) = row;
}

void smi_instances_parse(const char *text, size_t len, struct smi_instances *instances)
{
	each_row(text, len, take_instance, instances);
}

static void take_compute(struct words *w, void *list)
{
	struct smi_computes *computes = list;
	struct smi_compute row = { 0 };
	char name[SMI_NAME_SIZE];
	int profile;

	if (computes->len >= SMI_ROWS_MAX || !take_number(w, &row.instance) ||
	    !take_name(w, name) || !take_number(w, &profile) || !take_number(w, &row.id))
		return;
	*array_add(computes) = row;
}

void smi_computes_parse(const char *text, size_t len, struct smi_computes *computes)
{
	each_row(text, len, take_compute, computes);
}

enum smi_mode smi_mode_parse(const char *text, size_t len)
{
	static const struct {
		const char *word;
		enum smi_mode mode;
	} modes[] = {
		{ "[N/A]", SMI_MODE_NONE },           { "N/A", SMI_MODE_NONE },
		{ "[Not Supported]", SMI_MODE_NONE }, { "Enabled", SMI_MODE_ENABLED },
		{ "Disabled", SMI_MODE_DISABLED },
	};
	const char *end = text + (len < SMI_TEXT_MAX ? len : SMI_TEXT_MAX);

	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		const char *next = stop ? stop : end;
		size_t n = (size_t)(next - text);

		while (n > 0 && is_blank(text[n - 1]))
			n--;
		for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
			if (n == strlen(modes[i].word) && memcmp(text, modes[i].word, n) == 0)
				return modes[i].mode;
		}
		text = stop ? stop + 1 : end;
	}
	return SMI_MODE_UNKNOWN;
}

bool smi_says_none(const char *text, size_t len)
{
	static const char *const said[] = { "No GPU instances found", "No compute instances found",
					    "No MIG-enabled devices found" };

	for (size_t i = 0; i < ARRAY_LEN(said); i++) {
		if (memmem(text, len, said[i], strlen(said[i])))
			return true;
	}
	return false;
}

/* --- how a card is divided -------------------------------------------------------------------- */

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
static int refuse_answer(struct err *err, const char *what, const char *text, size_t len)
{
	auto_str struct str line = STR_INIT;
	const char *end = memchr(text, '\n', len);

	str_add_clean(&line, text, end ? (size_t)(end - text) : len);
	str_cut(&line, QUOTED_MAX);
	return err_set(err, ERR_RETRY, -EBADMSG, "nvidia-smi does not say %s: '%s'", what,
		       str_cstr(&line));
}

static int take_answer(struct mig_look *look, enum mig_question question, const char *text,
		       size_t len, bool failed, struct err *err)
{
	bool none = failed && smi_says_none(text, len);

	switch (question) {
	case MIG_ASK_MODE:
		look->mode = failed ? SMI_MODE_UNKNOWN : smi_mode_parse(text, len);
		return look->mode == SMI_MODE_UNKNOWN
			       ? refuse_answer(err, "which MIG mode the card has", text, len)
			       : 0;
	case MIG_ASK_PROFILES:
		smi_profiles_parse(text, len, &look->profiles);
		return failed || look->profiles.len == 0
			       ? refuse_answer(err, "which MIG profiles the card has", text, len)
			       : 0;
	case MIG_ASK_INSTANCES:
		smi_instances_parse(text, len, &look->instances);
		return failed && !none
			       ? refuse_answer(err, "which GPU instances there are", text, len)
			       : 0;
	case MIG_ASK_COMPUTES:
		smi_computes_parse(text, len, &look->computes);
		return failed && !none
			       ? refuse_answer(err, "which compute instances there are", text, len)
			       : 0;
	}
	return 0;
}

bool mig_look_take(struct mig_look *look, enum mig_question question, const char *text, size_t len,
		   bool failed, struct err *err)
{
	if (take_answer(look, question, text, len, failed, err) < 0)
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

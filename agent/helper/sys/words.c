#include "agent/helper/sys/words.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/num.h"

struct parse {
	const struct words_table *table;
	void *object;
	uint32_t seen;      /* rows, by their index */
	const char *begins; /* the word that began the last item; NULL: none has */
};

static const struct word_row *find_row(const struct words_table *table, const char *word)
{
	size_t len = strcspn(word, "=");

	for (size_t i = 0; i < table->len && word[len]; i++) {
		const char *key = table->rows[i].key;

		if (strlen(key) == len && memcmp(key, word, len) == 0)
			return &table->rows[i];
	}
	return NULL;
}

static int check_value(const struct word_row *row, struct word *word, struct err *err)
{
	if (row->is_valid) {
		if (row->is_valid(word->value, strlen(word->value)))
			return 0;
		return err_set(err, ERR_INVALID, -EINVAL, "word '%s': '%s' must be %s", word->text,
			       row->key, row->form);
	}
	if (str_to_i64(word->value, &word->number) && word->number >= 0 && word->number <= row->max)
		return 0;
	return err_set(err, ERR_INVALID, -EINVAL, "word '%s': the number must be from 0 to %lld",
		       word->text, (long long)row->max);
}

/* Is all there that the last item needs? */
static int check_item(const struct parse *p, struct err *err)
{
	for (size_t i = 0; p->begins && i < p->table->len; i++) {
		const struct word_row *row = &p->table->rows[i];

		if ((row->flags & WORD_OF_ITEM) && (row->flags & WORD_NEEDED) &&
		    !(p->seen & UINT32_C(1) << i))
			return err_set(err, ERR_INVALID, -EINVAL, "no word '%s=' after '%s'",
				       row->key, p->begins);
	}
	return 0;
}

static int check_object(const struct parse *p, struct err *err)
{
	for (size_t i = 0; i < p->table->len; i++) {
		const struct word_row *row = &p->table->rows[i];

		if (!(row->flags & WORD_OF_ITEM) && (row->flags & WORD_NEEDED) &&
		    !(p->seen & UINT32_C(1) << i))
			return err_set(err, ERR_INVALID, -EINVAL, "a word '%s=' is needed",
				       row->key);
	}
	return check_item(p, err);
}

static int begin_item(struct parse *p, const struct word_row *row, const struct word *word,
		      struct err *err)
{
	if (check_item(p, err) < 0 || row->take(p->object, word, err) < 0)
		return -EINVAL;
	for (size_t i = 0; i < p->table->len; i++) {
		if (p->table->rows[i].flags & WORD_OF_ITEM)
			p->seen &= ~(UINT32_C(1) << i);
	}
	p->begins = word->text;
	return 0;
}

static int store(const struct word_row *row, void *object, const struct word *word, struct err *err)
{
	void *place = (char *)object + row->offset;

	if (row->take)
		return row->take(object, word, err);
	if (row->is_valid)
		*(const char **)place = word->value;
	else
		*(int *)place = (int)word->number;
	return 0;
}

static int take_word(struct parse *p, const char *text, struct err *err)
{
	const struct word_row *row = find_row(p->table, text);
	struct word word = { .text = text };
	uint32_t bit;
	int r;

	if (!row)
		return err_set(err, ERR_INVALID, -EINVAL, "word '%s' is not known; see --help",
			       text);
	word.value = text + strlen(row->key) + 1;
	bit = UINT32_C(1) << (row - p->table->rows);
	r = check_value(row, &word, err);
	if (r < 0)
		return r;
	if ((row->flags & WORD_OF_ITEM) && !p->begins)
		return err_set(err, ERR_INVALID, -EINVAL, "word '%s' %s", text, p->table->before);
	if ((p->seen & bit) && !(row->flags & (WORD_BEGINS | WORD_MANY)))
		return err_set(err, ERR_INVALID, -EINVAL, "word '%s' is one '%s=' too many", text,
			       row->key);
	p->seen |= bit;
	if (row->flags & WORD_BEGINS)
		return begin_item(p, row, &word, err);
	return store(row, row->flags & WORD_OF_ITEM ? p->table->last_item(p->object) : p->object,
		     &word, err);
}

int words_parse(const struct words_table *table, char **words, void *object, struct err *err)
{
	struct parse p = { .table = table, .object = object };

	assert(table->len <= 32);
	for (; *words; words++) {
		if (take_word(&p, *words, err) < 0)
			return -EINVAL;
	}
	return check_object(&p, err);
}

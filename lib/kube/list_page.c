#include "kube/list_page.h"

#include <errno.h>
#include <stdlib.h>

#include "api/json_map_read.h"
#include "api/meta.h"
#include "base/err.h"
#include "base/mem.h"

struct reader {
	struct json_read json;
	void (*item)(void *arg, const struct json_text *object);
	void *arg;
	struct json_text meta;
};

static void read_items(struct reader *r)
{
	struct json_text object;

	if (json_read_peek(&r->json) == 'n') { /* Go encodes an empty list as null */
		json_read_value(&r->json, NULL);
		return;
	}
	json_read_open(&r->json, '[');
	while (json_read_item(&r->json)) {
		if (json_read_value(&r->json, &object))
			r->item(r->arg, &object);
	}
}

static bool read_members(struct reader *r)
{
	struct json_text key;

	if (!json_read_open(&r->json, '{'))
		return false;
	while (json_read_member(&r->json, &key)) {
		if (json_text_is(&key, "metadata"))
			json_read_value(&r->json, &r->meta);
		else if (json_text_is(&key, "items"))
			read_items(r);
		else
			json_read_value(&r->json, NULL);
	}
	return json_read_end(&r->json);
}

int list_page_read(const char *text, size_t len,
		   void (*item)(void *arg, const struct json_text *object), void *arg,
		   struct list_page *ret_page, struct err *err)
{
	struct reader reader = { .json = json_read_start(text, len), .item = item, .arg = arg };
	struct api_list_meta meta;
	int r;

	if (!read_members(&reader))
		return err_set(err, ERR_INVALID, -EINVAL,
			       "a list of %zu bytes is not JSON, or nested more than %d deep", len,
			       JSON_READ_DEPTH);
	if (!reader.meta.text)
		return err_set(err, ERR_INVALID, -EINVAL, "a list without metadata");
	r = json_map_read(api_list_meta_map, reader.meta.text, reader.meta.len, &meta, err);
	if (r < 0)
		return err_wrap(err, "metadata of a list");
	if (!meta.resource_version) {
		json_map_done(api_list_meta_map, &meta);
		return err_set(err, ERR_INVALID, -EINVAL, "a list without resourceVersion");
	}
	ret_page->version = take_ptr(meta.resource_version);
	ret_page->next_page = take_ptr(meta.continue_);
	json_map_done(api_list_meta_map, &meta);
	return 0;
}

void list_page_done(struct list_page *page)
{
	free(page->version);
	free(page->next_page);
	*page = (struct list_page){ 0 };
}

#include "unit/suite.h"

#include <string.h>

#include "base/mem.h"
#include "kube/serve.h"
#include "page/page.h"

static const char *header(const char *name)
{
	for (const struct serve_header *h = page_files.headers; h->name; h++) {
		if (strcmp(h->name, name) == 0)
			return h->value;
	}
	return NULL;
}

static struct header_case {
	const char *name;
	const char *part;
} header_cases[] = {
	{ "Content-Security-Policy", "default-src 'none';" },
	{ "Content-Security-Policy", "script-src 'self';" },
	{ "Content-Security-Policy", "style-src 'self';" },
	{ "Content-Security-Policy", "connect-src 'self';" },
	{ "Content-Security-Policy", "base-uri 'none';" },
	{ "Content-Security-Policy", "form-action 'none';" },
	{ "Content-Security-Policy", "frame-ancestors 'none';" },
	{ "Content-Security-Policy", "require-trusted-types-for 'script'" },
	{ "Cache-Control", "no-store" },
	{ "X-Content-Type-Options", "nosniff" },
	{ "Referrer-Policy", "no-referrer" },
	{ "X-Frame-Options", "DENY" },
	{ "Cross-Origin-Resource-Policy", "same-origin" },
};

static void header_has_part(void **state)
{
	const struct header_case *c = *state;

	assert_non_null(header(c->name));
	assert_non_null(strstr(header(c->name), c->part));
}

static void nothing_opens_the_policy(void **state)
{
	static const char *const open[] = { "unsafe", "http:", "https:", "data:", "blob:", "*" };

	for (size_t i = 0; i < ARRAY_LEN(open); i++)
		assert_null(strstr(header("Content-Security-Policy"), open[i]));
	assert_null(header("Access-Control-Allow-Origin"));
}

/* The page names all of its files, and no other. */
static void every_file_of_the_page_is_there(void **state)
{
	const struct serve_file *page = serve_find_file(&page_files, "");
	auto_free char *text = xcalloc(page->len + 1, 1);
	size_t named = 0;

	memcpy(text, page->data, page->len);
	for (size_t i = 0; i < page_files.len; i++) {
		const struct serve_file *file = &page_files.files[i];
		auto_free char *quoted = xasprintf("\"%s\"", file->path);

		assert_true(file->len > 0);
		if (file != page)
			assert_non_null(strstr(text, quoted));
	}
	for (const char *at = text; (at = strstr(at, "<script src=")) != NULL; at++)
		named++;
	assert_int_equal(named, page_files.len - 3); /* the page, its style and its icon */
}

static void there_is_no_other_file(void **state)
{
	static const char *const paths[] = { "/",         "map",        "map.js/",
					     "../map.js", "index.html", "MAP.JS" };

	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		assert_null(serve_find_file(&page_files, paths[i]));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, header_cases, header_has_part);
	suite_add(&suite, "nothing opens the policy", nothing_opens_the_policy, NULL);
	suite_add(&suite, "every file of the page is there", every_file_of_the_page_is_there, NULL);
	suite_add(&suite, "there is no other file", there_is_no_other_file, NULL);
	return suite_run(&suite, "page");
}

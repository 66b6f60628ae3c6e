#include "kube/informer_url.h"

#include <stddef.h>

#include "kube/informer.h"
#include "kube/reflector.h"
#include "kube/url.h"

static void add(struct str *out, const struct informer_spec *spec, struct url_query *query)
{
	query->label_selector = spec->label_selector;
	query->field_selector = spec->field_selector;
	url_object(out, spec->kind, NULL, NULL, NULL);
	url_add_query(out, query);
}

void informer_list_url(struct str *out, const struct informer_spec *spec,
		       const struct reflector_query *asked)
{
	struct url_query query = {
		.resource_version = asked->resource_version,
		.resource_version_match = asked->resource_version_match,
		.continue_token = asked->continue_,
		.limit = asked->limit,
	};

	add(out, spec, &query);
}

void informer_watch_url(struct str *out, const struct informer_spec *spec,
			const struct reflector_query *asked)
{
	struct url_query query = {
		.resource_version = asked->resource_version,
		.timeout_seconds = asked->timeout_s,
		.watch = true,
		.bookmarks = true,
	};

	add(out, spec, &query);
}

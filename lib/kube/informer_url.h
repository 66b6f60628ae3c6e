/* informer_url: what an informer asks the API server for. Pure. A part of informer.c, for nobody else. */
#pragma once

struct informer_spec;
struct reflector_query;
struct str;

/* Append path and query of the list, or of the watch, that @asked is about. */
void informer_list_url(struct str *out, const struct informer_spec *spec,
		       const struct reflector_query *asked);
void informer_watch_url(struct str *out, const struct informer_spec *spec,
			const struct reflector_query *asked);

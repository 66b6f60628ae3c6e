#include "page/page.h"

#include "base/mem.h"
#include "embedded/page.h"
#include "kube/serve.h"

static const struct serve_file files[] = {
	{ "", "text/html; charset=utf-8", index_html, sizeof(index_html) },
	{ "map.css", "text/css; charset=utf-8", map_css, sizeof(map_css) },
	{ "places.js", "text/javascript; charset=utf-8", places_js, sizeof(places_js) },
	{ "cards.js", "text/javascript; charset=utf-8", cards_js, sizeof(cards_js) },
	{ "details.js", "text/javascript; charset=utf-8", details_js, sizeof(details_js) },
	{ "objects.js", "text/javascript; charset=utf-8", objects_js, sizeof(objects_js) },
	{ "cluster.js", "text/javascript; charset=utf-8", cluster_js, sizeof(cluster_js) },
	{ "claims.js", "text/javascript; charset=utf-8", claims_js, sizeof(claims_js) },
	{ "map.js", "text/javascript; charset=utf-8", map_js, sizeof(map_js) },
	{ "icon.svg", "image/svg+xml", icon_svg, sizeof(icon_svg) },
};

/* Load nothing from other sites, run only our script and style, forbid frames, and neither send
 * nor store the address. Without CORS headers, pages of other origins cannot read an answer. */
static const struct serve_header headers[] = {
	{ "Content-Security-Policy",
	  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
	  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
	  "require-trusted-types-for 'script'; trusted-types 'none'" },
	{ "Cache-Control", "no-store" },
	{ "X-Content-Type-Options", "nosniff" },
	{ "X-Frame-Options", "DENY" },
	{ "Referrer-Policy", "no-referrer" },
	{ "Cross-Origin-Opener-Policy", "same-origin" },
	{ "Cross-Origin-Resource-Policy", "same-origin" },
	{ 0 },
};

const struct serve_files page_files = {
	.files = files,
	.len = ARRAY_LEN(files),
	.headers = headers,
};

#include "cli/map/map_page.h"

#include <string.h>

#include "base/mem.h"
#include "embedded/cli_map.h"

static const struct map_file files[] = {
	{ "", "text/html; charset=utf-8", index_html, sizeof(index_html) },
	{ "map.css", "text/css; charset=utf-8", map_css, sizeof(map_css) },
	{ "places.js", "text/javascript; charset=utf-8", places_js, sizeof(places_js) },
	{ "cards.js", "text/javascript; charset=utf-8", cards_js, sizeof(cards_js) },
	{ "details.js", "text/javascript; charset=utf-8", details_js, sizeof(details_js) },
	{ "map.js", "text/javascript; charset=utf-8", map_js, sizeof(map_js) },
	{ "icon.svg", "image/svg+xml", icon_svg, sizeof(icon_svg) },
};

const struct map_file *map_page_file(const char *path)
{
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		if (strcmp(path, files[i].path) == 0)
			return &files[i];
	}
	return NULL;
}

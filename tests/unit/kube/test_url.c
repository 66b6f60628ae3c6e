#include "unit/suite.h"

#include <string.h>

#include "api/kind.h"
#include "base/err.h"
#include "base/str.h"
#include "kube/url.h"

static const struct api_kind pcidevices = {
	.group = "devices.harvesterhci.io",
	.version = "v1beta1",
	.plural = "pcidevices",
};
static const struct api_kind leases = {
	.group = "coordination.k8s.io",
	.version = "v1",
	.plural = "leases",
	.ns = "hostdev",
};
static const struct api_kind events = { .group = "", .version = "v1", .plural = "events" };

static struct object_case {
	const char *name;
	const struct api_kind *kind;
	const char *ns;
	const char *object;
	const char *subresource;
	const char *path;
} objects[] = {
	{ "a collection of the cluster", &pcidevices, NULL, NULL, NULL,
	  "/apis/devices.harvesterhci.io/v1beta1/pcidevices" },
	{ "an object", &pcidevices, NULL, "n1-0000", NULL,
	  "/apis/devices.harvesterhci.io/v1beta1/pcidevices/n1-0000" },
	{ "a subresource", &pcidevices, NULL, "n1", "status",
	  "/apis/devices.harvesterhci.io/v1beta1/pcidevices/n1/status" },
	{ "a subresource needs an object", &pcidevices, NULL, NULL, "status",
	  "/apis/devices.harvesterhci.io/v1beta1/pcidevices" },
	{ "a kind's own namespace", &leases, NULL, "x", NULL,
	  "/apis/coordination.k8s.io/v1/namespaces/hostdev/leases/x" },
	{ "another namespace", &leases, "other", "x", NULL,
	  "/apis/coordination.k8s.io/v1/namespaces/other/leases/x" },
	{ "the core group", &events, "default", NULL, NULL, "/api/v1/namespaces/default/events" },
	{ "a name cannot leave its place", &pcidevices, NULL, "../a?b#c%2f", NULL,
	  "/apis/devices.harvesterhci.io/v1beta1/pcidevices/..%2Fa%3Fb%23c%252f" },
};

static void object_has_path(void **state)
{
	const struct object_case *c = *state;
	auto_str struct str out = STR_INIT;

	url_object(&out, c->kind, c->ns, c->object, c->subresource);
	assert_string_equal(str_cstr(&out), c->path);
}

static struct query_case {
	const char *name;
	struct url_query query;
	const char *text;
} queries[] = {
	{ "nothing asked", { 0 }, "/p" },
	{ "an empty version is sent", { .resource_version = "" }, "/p?resourceVersion=" },
	{ "a page",
	  { .limit = 500, .continue_token = "a+b/c=", .label_selector = "k=v,x in (y, z)" },
	  "/p?labelSelector=k%3Dv%2Cx%20in%20%28y%2C%20z%29&limit=500&continue=a%2Bb%2Fc%3D" },
	{ "a watch",
	  { .watch = true,
	    .bookmarks = true,
	    .resource_version = "12",
	    .timeout_seconds = 301,
	    .field_selector = "spec.nodeName=a" },
	  "/p?watch=true&allowWatchBookmarks=true&fieldSelector=spec.nodeName%3Da&resourceVersion=12"
	  "&timeoutSeconds=301" },
	{ "an apply",
	  { .field_manager = "hostdev-agent", .force = true, .dry_run = true },
	  "/p?fieldManager=hostdev-agent&force=true&dryRun=All" },
	{ "a write that must know every field",
	  { .field_manager = "hostdev-agent", .strict = true },
	  "/p?fieldManager=hostdev-agent&fieldValidation=Strict" },
	{ "a version that must be met",
	  { .resource_version = "5", .resource_version_match = "NotOlderThan" },
	  "/p?resourceVersion=5&resourceVersionMatch=NotOlderThan" },
};

static void query_has_text(void **state)
{
	const struct query_case *c = *state;
	auto_str struct str out = STR_INIT;

	str_add(&out, "/p");
	url_add_query(&out, &c->query);
	assert_string_equal(str_cstr(&out), c->text);
}

static struct server_case {
	const char *name;
	const char *text;
	const char *scheme; /* NULL: refused */
	const char *host;
	unsigned port;
	const char *prefix;
} servers[] = {
	{ "host and port", "https://10.0.0.1:6443", "https", "10.0.0.1", 6443, "" },
	{ "https has a port of its own", "https://a.b/", "https", "a.b", 443, "" },
	{ "http too", "http://localhost", "http", "localhost", 80, "" },
	{ "IPv6 in brackets", "https://[fd00::1]:6443/", "https", "[fd00::1]", 6443, "" },
	{ "a path stays without its last slash", "https://r:1/k8s/c-1//", "https", "r", 1,
	  "/k8s/c-1" },
	{ "a scheme is needed", "10.0.0.1:6443", NULL, NULL, 0, NULL },
	{ "a host is needed", "https://:6443", NULL, NULL, 0, NULL },
	{ "a port is a number", "https://a:port", NULL, NULL, 0, NULL },
	{ "a port has an upper end", "https://a:65536", NULL, NULL, 0, NULL },
	{ "brackets are closed", "https://[fd00::1:6443", NULL, NULL, 0, NULL },
	{ "IPv6 without brackets is refused", "https://fd00::1", NULL, NULL, 0, NULL },
	{ "no user information", "https://user:pw@host", NULL, NULL, 0, NULL },
	{ "no query", "https://a/b?c", NULL, NULL, 0, NULL },
	{ "no line breaks", "https://a\r\nX: y", NULL, NULL, 0, NULL },
};

SUITE_CLOSING(url_server, struct url_server, url_server_done);

static void server_has_parts(void **state)
{
	const struct server_case *c = suite_row(state);
	struct url_server *server = *state;
	struct err err = { 0 };

	assert_int_equal(url_server_parse(c->text, server, &err) == 0, c->scheme != NULL);
	if (!c->scheme) {
		assert_non_null(strstr(err.msg, "server '"));
		return;
	}
	assert_string_equal(server->scheme, c->scheme);
	assert_string_equal(server->host, c->host);
	assert_int_equal(server->port, c->port);
	assert_string_equal(server->prefix, c->prefix);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, objects, object_has_path);
	suite_rows(&suite, queries, query_has_text);
	suite_fixture(&suite, &url_server_fixture);
	suite_rows(&suite, servers, server_has_parts);
	return suite_run(&suite, "url");
}

#include "kube/client_easy.h"

#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "kube/credentials.h"
#include "kube/url.h"

enum {
	CONNECT_TIMEOUT_MS = 10 * 1000,
	BUFFER_BYTES = 16 * 1024,
	RETRY_AFTER_MAX_S = 3600,
};

/* A name to expect in place of the server's own goes into the URL, so that the TLS handshake asks
 * for it and the certificate is held against it; curl is then told where that name really is. */
static void use_tls_name(struct easy_common *common, const char *name)
{
	struct url_server server = { 0 };
	auto_free char *to = NULL;

	if (url_server_parse(common->base, &server, NULL) < 0)
		return;
	to = xasprintf("%s:%u:%s:%u", name, server.port, server.host, server.port);
	common->connect_to = curl_slist_append(NULL, to);
	free(common->base);
	common->base = xasprintf("%s://%s:%u%s", server.scheme, name, server.port, server.prefix);
	url_server_done(&server);
}

/* Of this machine: no proxy leads there (as in Go's net/http). */
static bool is_local(const char *url)
{
	struct url_server server = { 0 };
	bool local;

	if (url_server_parse(url, &server, NULL) < 0)
		return false;
	local = strcmp(server.host, "localhost") == 0 || strncmp(server.host, "127.", 4) == 0 ||
		strcmp(server.host, "[::1]") == 0;
	url_server_done(&server);
	return local;
}

static char *choose_proxy(const struct transport_config *config)
{
	if (config->proxy)
		return xstrdup(config->proxy);
	return config->proxy_env && !is_local(config->server) ? NULL : xstrdup("");
}

void easy_common_init(struct easy_common *common, const struct transport_config *config)
{
	*common = (struct easy_common){
		.base = xstrdup(config->server),
		.user_agent = xstrdup(config->user_agent),
		.insecure = config->insecure,
		.proxy = choose_proxy(config),
	};
	for (size_t i = 0; config->headers && config->headers[i]; i++)
		common->headers = curl_slist_append(common->headers, config->headers[i]);
	if (config->tls_server_name)
		use_tls_name(common, config->tls_server_name);
}

static void replace(char **at, const char *text)
{
	free(*at);
	*at = xstrdup_or_null(text);
}

void easy_common_files(struct easy_common *common, const struct credential_files *files)
{
	replace(&common->ca, files->ca);
	replace(&common->cert, files->cert);
	replace(&common->key, files->key);
}

/* Nothing of a token stays in memory that is given back. */
void easy_common_authorize(struct easy_common *common, const char *authorization)
{
	if (common->authorization)
		explicit_bzero(common->authorization, strlen(common->authorization));
	replace(&common->authorization, authorization);
}

void easy_common_done(struct easy_common *common)
{
	easy_common_authorize(common, NULL);
	while (common->pooled > 0)
		curl_easy_cleanup(common->pool[--common->pooled]);
	free(common->base);
	free(common->user_agent);
	free(common->ca);
	free(common->cert);
	free(common->key);
	free(common->proxy);
	curl_slist_free_all(common->connect_to);
	curl_slist_free_all(common->headers);
	*common = (struct easy_common){ 0 };
}

CURL *easy_take(struct easy_common *common)
{
	CURL *easy = common->pooled > 0 ? common->pool[--common->pooled] : curl_easy_init();

	assert(easy); /* only memory can lack */
	return easy;
}

void easy_give(struct easy_common *common, CURL *easy)
{
	curl_easy_reset(easy);
	if (common->pooled < EASY_POOL_MAX)
		common->pool[common->pooled++] = easy;
	else
		curl_easy_cleanup(easy);
}

/* A peer that is gone is noticed after 30 s: an idle connection by keepalive probes, one with
 * unanswered data by TCP_USER_TIMEOUT, which also bounds the probes (net/ipv4/tcp_timer.c). None
 * of these is needed for the connection to work, so failing to set one is passed over. */
static int on_socket_made(void *arg, curl_socket_t fd, curlsocktype purpose)
{
	static const struct {
		int level;
		int name;
		int value;
	} options[] = {
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, 15 },
		{ IPPROTO_TCP, TCP_KEEPINTVL, 5 },
		{ IPPROTO_TCP, TCP_KEEPCNT, 3 },
		{ IPPROTO_TCP, TCP_USER_TIMEOUT, 30 * 1000 },
	};

	(void)arg;
	(void)purpose;
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		(void)setsockopt(fd, options[i].level, options[i].name, &options[i].value,
				 sizeof(options[i].value));
	return CURL_SOCKOPT_OK;
}

static void set_connection(CURL *easy, const struct easy_common *common)
{
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "https,http");
	curl_easy_setopt(easy, CURLOPT_PROXY, common->proxy);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
	curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
	curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)BUFFER_BYTES);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
	curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_socket_made);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, common->user_agent);
	curl_easy_setopt(easy, CURLOPT_CONNECT_TO, common->connect_to);
}

/* Without a CA of our own the system's certificates count, as in kubectl. With one, the folder of
 * the system's must not be read as well: GnuTLS would load every certificate of it (7 MiB). */
static void set_tls(CURL *easy, const struct easy_common *common)
{
	curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, common->insecure ? 0L : 1L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, common->insecure ? 0L : 2L);
	if (common->ca || common->insecure) {
		curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
		curl_easy_setopt(easy, CURLOPT_CAINFO, common->ca);
	}
	if (common->cert && common->key) {
		curl_easy_setopt(easy, CURLOPT_SSLCERT, common->cert);
		curl_easy_setopt(easy, CURLOPT_SSLKEY, common->key);
	}
}

static void add_header(struct curl_slist **list, const char *name, const char *value)
{
	auto_free char *line = xasprintf("%s: %s", name, value);
	struct curl_slist *longer = curl_slist_append(*list, line);

	assert(longer); /* only memory can lack */
	explicit_bzero(line, strlen(line));
	*list = longer;
}

static void set_body(CURL *easy, const struct transport_request *request)
{
	if (!request->body) {
		curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
		return;
	}
	curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_len);
	curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, request->body);
}

struct curl_slist *easy_prepare(CURL *easy, const struct easy_common *common,
				const struct transport_request *request)
{
	auto_free char *url = xasprintf("%s%s", common->base, request->path);
	struct curl_slist *headers = NULL;

	add_header(&headers, "Accept", "application/json");
	headers = curl_slist_append(headers, "Expect:");
	if (request->content_type)
		add_header(&headers, "Content-Type", request->content_type);
	for (const struct curl_slist *header = common->headers; header; header = header->next)
		headers = curl_slist_append(headers, header->data);
	if (request->authorization)
		add_header(&headers, "Authorization", request->authorization);

	set_connection(easy, common);
	set_tls(easy, common);
	set_body(easy, request);
	curl_easy_setopt(easy, CURLOPT_URL, url);
	curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
	if (!request->stream)
		curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
	return headers;
}

int easy_status(CURL *easy)
{
	long status = 0;

	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	return (int)status;
}

bool easy_is_http2(CURL *easy)
{
	long version = 0;

	curl_easy_getinfo(easy, CURLINFO_HTTP_VERSION, &version);
	return version == CURL_HTTP_VERSION_2_0;
}

uint64_t easy_retry_after_ms(CURL *easy)
{
	curl_off_t wait_s = 0;

	curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &wait_s);
	if (wait_s > RETRY_AFTER_MAX_S)
		wait_s = RETRY_AFTER_MAX_S;
	return wait_s > 0 ? (uint64_t)wait_s * 1000 : 0;
}

enum transfer_result easy_result(CURLcode code)
{
	if (code == CURLE_OK)
		return TRANSFER_DONE;
	if (code == CURLE_OPERATION_TIMEDOUT)
		return TRANSFER_TIMEOUT;
	return code == CURLE_WRITE_ERROR ? TRANSFER_STOPPED : TRANSFER_BROKEN;
}

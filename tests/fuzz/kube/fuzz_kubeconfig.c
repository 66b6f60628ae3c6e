/* Any kubeconfig: no crash, and either a whole configuration or an error that says something. */
#include <assert.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "kube/config.h"
#include "kube/credentials.h"
#include "kube/kubeconfig.h"
#include "kube/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What would be run is all there, and of a version that is known. */
static void check_exec(const struct kube_exec *exec)
{
	if (!exec)
		return;
	assert(exec->command[0] && exec->user[0] && exec->api_version[0]);
	for (size_t i = 0; i < exec->env.len; i++)
		assert(strchr(exec->env.items[i], '=') > exec->env.items[i]);
}

/* No header has another one in it. */
static void check_as(const struct kube_as *as)
{
	struct json_strs headers = { 0 };

	if (impersonate_check(as, NULL) < 0)
		return;
	impersonate_headers(as, &headers);
	for (size_t i = 0; i < headers.len; i++)
		assert(strncmp(headers.items[i], "Impersonate-", 12) == 0 &&
		       !strpbrk(headers.items[i], "\r\n"));
	json_strs_done(&headers);
}

/* What was loaded can be used. */
static void check(const struct kube_config *config)
{
	struct url_server server = { 0 };

	assert(config->server && config->ns && config->origin);
	assert(url_server_parse(config->server, &server, NULL) == 0);
	url_server_done(&server);
	assert(!config->token || credentials_is_token(config->token));
	assert(!config->ca.data || config->ca.len > 0);
	check_exec(config->exec);
	check_as(&config->as);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_kube_config struct kube_config config = { 0 };
	auto_close int fd = memfd_create("kubeconfig", MFD_CLOEXEC);
	auto_free char *path = xasprintf("/proc/self/fd/%d", fd);
	const struct kube_config_source source = { .person = true };
	struct err err = { 0 };

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return 0;
	if (kubeconfig_load(path, &source, &config, &err) == 0) {
		check(&config);
		return 0;
	}
	assert(err.code < 0 && err.msg[0] && !config.server);
	return 0;
}

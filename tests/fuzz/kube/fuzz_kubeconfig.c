/* Any kubeconfig: no crash, and either a whole configuration or an error that says something. */
#include <assert.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "kube/credentials.h"
#include "kube/kubeconfig.h"
#include "kube/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was loaded can be used. */
static void check(const struct kube_config *config)
{
	struct url_server server = { 0 };

	assert(config->server && config->ns && config->origin);
	assert(url_server_parse(config->server, &server, NULL) == 0);
	url_server_done(&server);
	assert(!config->token || credentials_is_token(config->token));
	assert(!config->ca.data || config->ca.len > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_kube_config struct kube_config config = { 0 };
	auto_close int fd = memfd_create("kubeconfig", MFD_CLOEXEC);
	auto_free char *path = xasprintf("/proc/self/fd/%d", fd);
	struct err err = { 0 };

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return 0;
	if (kubeconfig_load(path, NULL, &config, &err) == 0) {
		check(&config);
		return 0;
	}
	assert(err.code < 0 && err.msg[0] && !config.server);
	return 0;
}

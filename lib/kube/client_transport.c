#include "kube/client_transport.h"

#include "api/json_values.h"
#include "base/array.h"
#include "kube/config.h"
#include "kube/impersonate.h"
#include "kube/transport.h"

struct transport *client_transport(struct uv_loop_s *loop, const struct kube_config *config,
				   const char *user_agent)
{
	struct transport *transport;
	struct json_strs headers = { 0 };

	impersonate_headers(&config->as, &headers);
	*array_add(&headers) = NULL;
	transport = transport_new(loop, &(struct transport_config){
						.server = config->server,
						.tls_server_name = config->tls_server_name,
						.user_agent = user_agent,
						.insecure = config->insecure,
						.proxy = config->proxy,
						.proxy_env = config->proxy_env,
						.headers = (const char *const *)headers.items,
					});
	json_strs_done(&headers);
	return transport;
}

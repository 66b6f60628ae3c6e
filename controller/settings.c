#include "controller/settings.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "api/names.h"
#include "base/err.h"
#include "base/mem.h"

/* clang-format off */
#define AT(member) .offset = offsetof(struct settings, member)

static const struct option_row rows[] = {
	PROGRAM_LOG_ROWS(struct settings, common),
	PROGRAM_CLUSTER_ROWS(struct settings, common, "127.0.0.1:9808"),
	{ .name = "pod-name", .type = OPTION_STRING, AT(pod_name), .env = "POD_NAME",
	  .argument = "NAME", .group = "Election",
	  .help = "What this replica is called in the election of the leader. Without it, the host "
		  "name and the process id." },
	{ .name = "namespace", .type = OPTION_STRING, AT(ns), .env = "POD_NAMESPACE",
	  .fallback = NAMES_NAMESPACE, .argument = "NAME",
	  .help = "Namespace of the Lease by which the leader is elected." },
};
/* clang-format on */

const struct options_prose settings_prose = {
	.program = "hostdev-controller",
	.summary = "does for the cluster what no single node can decide",
	.synopsis = "hostdev-controller [FLAG]...",
	.description =
		"One of its replicas leads, by the Lease hostdev-controller; the others wait "
		"to take over. It serves its probes and metrics from the start.",
	.examples = "  hostdev-controller --kubeconfig ~/.kube/config --namespace default",
};

const struct option_row *settings_rows(size_t *ret_len)
{
	*ret_len = ARRAY_LEN(rows);
	return rows;
}

int settings_complete(struct settings *s, struct err *err)
{
	char host[HOST_NAME_MAX + 1];

	if (s->pod_name)
		return 0;
	if (gethostname(host, sizeof(host)) < 0)
		return err_set(err, ERR_INVALID, -errno,
			       "the host name cannot be read (%s); give --pod-name",
			       strerror(errno));
	s->pod_name = xasprintf("%s-%d", host, (int)getpid());
	return 0;
}

/* hostdev-controller: the command line. replica and uninstall do what it asks for. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/names.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/options.h"
#include "base/standard_fds.h"
#include "controller/replica.h"
#include "controller/uninstall.h"
#include "kube/program.h"

/* --- settings, from flags, environment or file --- */

/* What the webhook does with pods whose spec.nodeName is a node that does not offer the
 * requested resource. */
enum pinned_pods { PINNED_PODS_WARN, PINNED_PODS_REFUSE };

struct settings {
	struct program_settings common;
	char *pod_name; /* this replica's identity in the election */
	char *ns;       /* namespace of the Lease and the webhook */
	char *webhook_listen;
	char *webhook_client_ca; /* a file */
	char *map_listen;
	int pinned_pods; /* enum pinned_pods */
	char *agent_pods;
	uint64_t node_gone_after_ms;
	int kubevirt;                     /* enum kubevirt_mode */
	uint64_t timeout_ms;              /* of uninstall; 0: none */
	struct option_list webhook_hosts; /* in addition to the Service's name */
};

/* indexed by enum kubevirt_mode */
static const char *const kubevirt_modes[] = { "follow", "create", "off", NULL };

/* indexed by enum pinned_pods */
static const char *const pinned_pods[] = { "warn", "refuse", NULL };

/* clang-format off */
#define AT(member) .offset = offsetof(struct settings, member)

static const struct option_row controller_rows[] = {
	PROGRAM_LOG_ROWS(struct settings, common),
	PROGRAM_CLUSTER_ROWS(struct settings, common, "127.0.0.1:9808"),
	{ .name = "pod-name", .type = OPTION_STRING, AT(pod_name), .env = "POD_NAME",
	  .argument = "NAME", .group = "Election",
	  .help = "Name of this replica in the leader election. Without it, the host name and the "
		  "process id." },
	{ .name = "namespace", .type = OPTION_STRING, AT(ns), .env = "POD_NAMESPACE",
	  .fallback = NAMES_NAMESPACE, .argument = "NAME",
	  .help = "Namespace of the Lease by which the leader is elected, and of the webhook's "
		  "Service and Secret." },
	{ .name = "webhook-listen", .type = OPTION_STRING, AT(webhook_listen), .fallback = "off",
	  .argument = "ADDRESS:PORT", .group = "Webhook",
	  .help = "Answer admission reviews here, over TLS; \":PORT\" for all addresses, \"off\" "
		  "for none. The leader creates and renews the certificate, in the Secret "
		  "hostdev-webhook-tls." },
	{ .name = "webhook-host", .type = OPTION_LIST, AT(webhook_hosts), .argument = "NAME,...",
	  .help = "DNS names and addresses by which API servers reach the webhook, in addition to "
		  "that of the Service hostdev-webhook." },
	{ .name = "webhook-client-ca", .type = OPTION_STRING, AT(webhook_client_ca),
	  .argument = "FILE",
	  .help = "Answer reviews only for clients with a certificate of one of the CAs in this "
		  "PEM file. API servers send one only if their AdmissionConfiguration says so." },
	{ .name = "pinned-pods", .type = OPTION_ENUM, AT(pinned_pods), .choices = pinned_pods,
	  .argument = "warn|refuse",
	  .help = "What the webhook does about a pod with spec.nodeName whose node does not offer "
		  "a resource that the pod asks for, so that it would run without the device." },
	{ .name = "map-listen", .type = OPTION_STRING, AT(map_listen), .fallback = "off",
	  .argument = "ADDRESS:PORT", .group = "Map",
	  .help = "Serve the page of the device map here, over plain HTTP; \":PORT\" for all "
		  "addresses, \"off\" for none. It contains no data of the cluster: the browser "
		  "reads that from the API server, with the rights of its user." },
	{ .name = "agent-pods", .type = OPTION_STRING, AT(agent_pods), .argument = "SELECTOR",
	  .fallback = "app.kubernetes.io/part-of=hostdev,app.kubernetes.io/component=agent",
	  .group = "Nodes",
	  .help = "Labels of the agents' pods, in this namespace. Claims of a node on which none "
		  "of them is Ready show AgentNotRunning. \"none\" if the agents are not pods." },
	{ .name = "node-gone-after", .type = OPTION_DURATION, AT(node_gone_after_ms),
	  .fallback = "5m", .min = 1000, .argument = "TIME",
	  .help = "Delete a node's devices and claims when the cluster has had no such Node for so "
		  "long." },
	{ .name = "kubevirt", .type = OPTION_ENUM, AT(kubevirt), .choices = kubevirt_modes,
	  .argument = "follow|create|off", .group = "KubeVirt",
	  .help = "Keep hostdev's resources in permittedHostDevices of the KubeVirt object, and "
		  "record on virtual machines the devices that they got. \"follow\" leaves a "
		  "KubeVirt without permittedHostDevices as it is, since that permits every "
		  "device; \"create\" adds it, and KubeVirt then permits nothing else." },
};

static const struct option_row uninstall_rows[] = {
	{ .name = "timeout", .type = OPTION_DURATION, AT(timeout_ms), .fallback = "10m",
	  .argument = "TIME", .group = "Uninstall",
	  .help = "Exit with status 1 when a claim still exists after so long; 0 waits without "
		  "end." },
	PROGRAM_LOG_ROWS(struct settings, common),
	PROGRAM_CLUSTER_ROWS(struct settings, common, "off"),
};
/* clang-format on */

static const struct options_prose controller_prose = {
	.program = "hostdev-controller",
	.summary = "count devices, clean up after nodes and serve the admission webhook",
	.synopsis = " hostdev-controller [FLAG]...\n hostdev-controller uninstall [FLAG]...",
	.description =
		"One replica is the leader and holds the Lease hostdev-controller; the others wait "
		"to take over. Every replica serves its probes and metrics from the start.\n"
		"\n"
		"`hostdev-controller uninstall` releases all devices; it has its own --help.",
	.examples = "  hostdev-controller --kubeconfig ~/.kube/config --namespace default",
};

static const struct options_prose uninstall_prose = {
	.program = "hostdev-controller uninstall",
	.summary = "release all devices and wait until that is done",
	.synopsis = "hostdev-controller uninstall [FLAG]...",
	.description =
		"Deletes the HostDeviceConfig and all claims, waits until the agents have returned "
		"every device to its driver, and removes hostdev's entries from KubeVirt's "
		"permittedHostDevices. Then the installed objects can be deleted without a "
		"finalizer in the way. The agents must still run. Finalizers of claims on deleted "
		"nodes are removed. Standard output shows what it waits for.",
	.examples = "  hostdev-controller uninstall --kubeconfig ~/.kube/config --timeout 5m",
};

/* Fill unset settings from the machine. Errors name the setting. */
static int settings_complete(struct settings *s, struct err *err)
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

/* --- the commands --- */

static int run(const struct settings *s)
{
	const struct replica_options options = {
		.identity = s->pod_name,
		.ns = s->ns,
		.webhook_listen = s->webhook_listen,
		.webhook_hosts = &s->webhook_hosts,
		.webhook_client_ca = s->webhook_client_ca,
		.refuse_pinned = s->pinned_pods == PINNED_PODS_REFUSE,
		.map_listen = s->map_listen,
		.agents = s->agent_pods,
		.node_gone_ms = s->node_gone_after_ms,
		.kubevirt = (enum kubevirt_mode)s->kubevirt,
	};
	struct program program;
	struct err err = { 0 };
	int status = 0;

	if (program_init(&program, &s->common, "hostdev-controller/" HOSTDEV_VERSION, &err) < 0)
		return program_cannot_start(controller_prose.program, &err);
	log_info("starting controller", log_str("version", HOSTDEV_VERSION),
		 log_str("identity", s->pod_name));
	if (replica_run(&program, &options, &err) < 0)
		status = program_cannot_start(controller_prose.program, &err);
	program_done(&program);
	return status;
}

static int uninstall(const struct settings *s)
{
	struct program program;
	struct err err = { 0 };
	int status;

	if (program_init(&program, &s->common, "hostdev-controller/" HOSTDEV_VERSION, &err) < 0)
		return program_cannot_start(uninstall_prose.program, &err);
	status = uninstall_run(&program, s->timeout_ms);
	program_done(&program);
	return status;
}

/* A command, its options and its function. */
static const struct command {
	const char *word; /* NULL: the default command */
	const struct option_row *rows;
	size_t rows_len;
	const struct options_prose *prose;
	int (*run)(const struct settings *s);
} commands[] = {
	{ "uninstall", uninstall_rows, ARRAY_LEN(uninstall_rows), &uninstall_prose, uninstall },
	{ NULL, controller_rows, ARRAY_LEN(controller_rows), &controller_prose, run },
};

static int run_command(const struct command *command, int argc, char *const *argv)
{
	struct settings settings = { 0 };
	struct options options;
	struct err err = { 0 };
	int status;

	options_init(&options, command->rows, command->rows_len, &settings);
	status = program_options(&options, &settings.common, command->prose, &argc, &argv);
	if (status < 0) {
		if (argc > 0)
			err_set(&err, ERR_INVALID, -1, "unexpected word '%s'; see --help", argv[0]);
		else
			settings_complete(&settings, &err);
		status = err.code ? program_misused(command->prose, err.msg)
				  : command->run(&settings);
	}
	options_done(&options);
	return status;
}

int main(int argc, char **argv)
{
	const struct command *command = commands;

	standard_fds_open();
	while (command->word && (argc < 2 || strcmp(argv[1], command->word) != 0))
		command++;
	if (command->word) {
		argc--;
		argv++;
	}
	return run_command(command, argc, argv);
}

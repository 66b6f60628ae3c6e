#include "cli/target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/mediateddeviceparent.h"
#include "api/meta.h"
#include "api/names.h"
#include "api/pcidevice.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/client/find.h"
#include "cli/client/session.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/model/address.h"
#include "cli/model/cluster.h"
#include "cli/model/narrow.h"
#include "kube/url.h"

/* Kinds whose objects have the name of a device; devices before claims. */
static const enum cluster_kind named[] = { CLUSTER_PCIDEVICE, CLUSTER_PCICLAIM, CLUSTER_USBDEVICE,
					   CLUSTER_USBCLAIM, CLUSTER_MDEV };

/* Get objects of that name one by one, before listing anything. Every error but one of the
 * connection counts as "not found". */
static int read_named(struct session *session, const char *name, struct targets *targets,
		      struct err *err)
{
	struct cluster *cluster = targets->cluster;

	for (size_t i = 0; i < ARRAY_LEN(named); i++) {
		int r = lists_read_one(session, named[i], name, cluster, err);

		if (r == -EACCES)
			targets->denied |= CLUSTER_SET(named[i]);
		if (r < 0 && r != -ENOENT && r != -EACCES && r != -EINVAL)
			return r;
		if (named[i] == CLUSTER_PCICLAIM || named[i] == CLUSTER_USBCLAIM) {
			if (cluster_device(cluster, DEVICE_PCI, name) ||
			    cluster_device(cluster, DEVICE_USB, name))
				return 0;
		}
	}
	return 0;
}

/* The name of the object that @word names; NULL if only the lists can show it. The caller frees. */
static char *name_of_word(const char *word)
{
	size_t len = find_node_len(word);
	auto_free char *node = xstrndup(word, len);
	const char *address = len > 0 ? word + len + 1 : "";
	auto_free char *full = NULL;

	if (len == 0)
		return names_valid_object(find_name_part(word)) ? xstrdup(find_name_part(word))
								: NULL;
	if (!address_is_pci(address))
		return NULL;
	full = xasprintf("%s%s", address_bus_len(address) > 0 ? "" : "0000:", address);
	return names_pcidevice(node, full);
}

/* A caller who may get a device, but not list devices, may see its claim in a list. Read the device
 * itself, or it would look as if nothing used it. */
static int read_hidden(struct command_run *run, struct targets *targets, struct err *err)
{
	unsigned hidden = targets->missing.forbidden & CLUSTER_DEVICES;
	int r = 0;

	for (size_t i = 0; hidden && i < run->words_len && r == 0; i++) {
		auto_str struct str why = STR_INIT;
		auto_free char *name = NULL;
		struct cluster_device *device;

		if (find_device(targets->cluster, run->words[i], &device, &why) < 0)
			continue;
		name = xstrdup(device->name);
		r = read_named(run->session, name, targets, err);
	}
	return r;
}

/* The node that the word names; NULL if only the lists can show it. */
static char *node_of_word(struct cluster *cluster, const char *word)
{
	static const enum device_type types[] = { DEVICE_PCI, DEVICE_USB, DEVICE_MDEV };
	size_t len = find_node_len(word);

	if (len > 0)
		return xstrndup(word, len);
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		const struct cluster_device *device =
			cluster_device(cluster, types[i], find_name_part(word));

		if (device && device->node[0])
			return xstrdup(device->node);
	}
	return NULL;
}

/* The one node of all words, or NULL. */
static char *common_node(struct cluster *cluster, const struct command_run *run)
{
	char *common = NULL;

	for (size_t i = 0; i < run->words_len; i++) {
		auto_free char *node = node_of_word(cluster, run->words[i]);

		if (!node || (common && strcmp(node, common) != 0)) {
			free(common);
			return NULL;
		}
		if (!common)
			common = take_ptr(node);
	}
	return common;
}

static int read_all(struct command_run *run, unsigned kinds, struct targets *targets,
		    struct err *err)
{
	struct lists_want want = {
		.kinds = CLUSTER_DEVICES | CLUSTER_SET(CLUSTER_NODE) |
			 (kinds & ~CLUSTER_SET(CLUSTER_RESOURCECLAIM)),
		.user = run->settings.claim_user,
	};
	auto_free char *node = NULL;
	int r;

	for (size_t i = 0; i < run->words_len; i++) {
		auto_free char *name = name_of_word(run->words[i]);

		if (!name)
			continue;
		r = read_named(run->session, name, targets, err);
		if (r < 0)
			return r;
	}
	node = common_node(targets->cluster, run);
	want.node = node;
	want.optional = want.kinds;
	r = lists_read(run->session, &want, targets->cluster, &targets->missing, err);
	if (r == 0 && (kinds & CLUSTER_DRA))
		r = lists_read_dra(run->session, CLUSTER_SET(CLUSTER_RESOURCECLAIM),
				   targets->cluster, &targets->missing, err);
	/* Distinguish a device that does not exist from one that the caller may not read. */
	if (r == 0 &&
	    (targets->missing.kinds & ~targets->missing.forbidden & CLUSTER_SET(CLUSTER_PCIDEVICE)))
		return err_set(err, ERR_INVALID, -ENOENT, "%s",
			       targets->missing.why[CLUSTER_PCIDEVICE]);
	return r < 0 ? r : read_hidden(run, targets, err);
}

/* Does the node of NODE/ADDRESS not exist? */
static bool lacks_node(const struct cluster *cluster, const char *word)
{
	auto_free char *node = xstrndup(word, find_node_len(word));
	const char *reason = node[0] ? cluster_node_fault(cluster, node).reason : NULL;

	return reason && strcmp(reason, "NodeGone") == 0;
}

/* The verbs that the caller lacks, if there is such a device. Names of PCI functions end in nine
 * characters, those of USB devices in six. */
static void add_right(struct str *why, const char *word, bool claim)
{
	auto_free char *name = name_of_word(word);
	const char *dash = name ? strrchr(name, '-') : NULL;
	bool usb = dash && strlen(dash + 1) == 6;

	if (!name)
		str_add(why, ": without the right to list devices, name the node, too: NODE/");
	if (!name)
		out_text(why, word);
	if (!dash)
		return;
	if (claim)
		str_add(why, ", so you may not claim it");
	str_addf(why, ": ask an administrator for the verb%s get%s on %s/", claim ? "s" : "",
		 claim ? " and claim" : "",
		 cluster_kind(usb ? CLUSTER_USBDEVICE : CLUSTER_PCIDEVICE)->plural);
	out_text(why, name);
}

/* The parents of mediated devices are no devices. */
static bool is_parent(struct session *session, const char *word)
{
	auto_free char *name = name_of_word(word);
	auto_str struct str path = STR_INIT;
	auto_answer struct session_answer answer = { 0 };

	if (!name)
		return false;
	url_object(&path, &mediateddeviceparent_kind, NULL, name, NULL);
	return session_ask(session,
			   &(struct kube_request){
				   .verb = "get",
				   .resource = mediateddeviceparent_kind.plural,
				   .method = "GET",
				   .path = str_cstr(&path),
			   },
			   &answer, NULL) == 0;
}

/* A caller who may not read everything cannot tell whether an object is missing or hidden. */
static void say_not_found(const struct command_run *run, const struct targets *targets,
			  const char *word, struct str *why)
{
	if (lacks_node(targets->cluster, word)) {
		str_clear(why);
		str_add(why, "there is no node '");
		str_add_clean(why, word, find_node_len(word));
		str_add(why, "': kubectl get nodes lists them");
	} else if (is_parent(run->session, word)) {
		str_clear(why);
		str_addf(why,
			 "'%s' is a %s, and not a device: kubectl describe mdevparent %s shows "
			 "its state and events",
			 find_name_part(word), mediateddeviceparent_kind.kind,
			 find_name_part(word));
	} else if (targets->missing.forbidden & CLUSTER_DEVICES) {
		str_clear(why);
		str_add(why, "no device '");
		out_text(why, word);
		str_add(why, "' is among those that you may read");
		add_right(why, word, run->command == &claim_command);
	}
	command_say(run, str_cstr(why));
}

bool targets_have(const struct targets *targets, const struct cluster_device *device)
{
	for (size_t i = 0; i < targets->len; i++) {
		if (targets->devices[i] == device)
			return true;
	}
	return false;
}

/* Report every word that matches nothing, not only the first. */
static int find_all(const struct command_run *run, struct targets *targets)
{
	int status = COMMAND_OK;

	targets->devices = xcalloc(run->words_len + 1, sizeof(struct cluster_device *));
	for (size_t i = 0; i < run->words_len; i++) {
		auto_str struct str why = STR_INIT;
		struct cluster_device *device;
		int r = find_device(targets->cluster, run->words[i], &device, &why);

		if (r == 0) {
			if (!targets_have(targets, device))
				targets->devices[targets->len++] = device;
			continue;
		}
		if (r == -ENOENT)
			say_not_found(run, targets, run->words[i], &why);
		else
			command_say(run, str_cstr(&why));
		status = COMMAND_FAILED;
	}
	return status;
}

int targets_find(struct command_run *run, unsigned kinds, struct targets *ret_targets)
{
	struct err err = { 0 };

	*ret_targets = (struct targets){ 0 };
	if (!command_session(run))
		return COMMAND_FAILED;
	ret_targets->cluster = cluster_new();
	if (read_all(run, kinds, ret_targets, &err) < 0) {
		(void)command_fail(run, &err);
		return session_late(run->session) ? COMMAND_LATE : COMMAND_FAILED;
	}
	cluster_hide_claims(ret_targets->cluster, ret_targets->denied & CLUSTER_CLAIMS,
			    ret_targets->missing.forbidden & CLUSTER_CLAIMS);
	return find_all(run, ret_targets);
}

void targets_tell(const struct targets *targets, unsigned kinds)
{
	static const unsigned of_type[] = {
		[DEVICE_PCI] = CLUSTER_SET(CLUSTER_PCIDEVICE) | CLUSTER_SET(CLUSTER_PCICLAIM),
		[DEVICE_USB] = CLUSTER_SET(CLUSTER_USBDEVICE) | CLUSTER_SET(CLUSTER_USBCLAIM),
		[DEVICE_MDEV] = CLUSTER_SET(CLUSTER_MDEV),
	};

	for (size_t i = 0; i < targets->len; i++)
		kinds |= targets->denied & of_type[targets->devices[i]->type];
	command_tell_missing(&targets->missing, kinds);
}

static bool is_had(const struct cluster_device *device, const char *ns)
{
	return narrow_has_pod(device, ns) || (!ns && device->claim);
}

int targets_had(struct command_run *run, struct targets *ret_targets)
{
	struct lists_want want = {
		.kinds = CLUSTER_DEVICES | CLUSTER_SET(CLUSTER_NODE) | CLUSTER_SET(CLUSTER_SLICE),
		.selector = run->settings.selector,
	};
	const struct cluster_view *view;
	struct err err = { 0 };

	*ret_targets = (struct targets){ 0 };
	if (!command_session(run))
		return COMMAND_FAILED;
	ret_targets->cluster = cluster_new();
	want.optional = want.kinds;
	if (lists_read(run->session, &want, ret_targets->cluster, &ret_targets->missing, &err) <
		    0 ||
	    lists_check(&ret_targets->missing, &err) < 0 ||
	    lists_read_dra(run->session, CLUSTER_SET(CLUSTER_RESOURCECLAIM), ret_targets->cluster,
			   &ret_targets->missing, &err) < 0)
		return command_fail(run, &err);
	view = cluster_view(ret_targets->cluster);
	ret_targets->devices = xcalloc(view->len + 1, sizeof(struct cluster_device *));
	for (size_t i = 0; i < view->len; i++) {
		if (is_had(&view->devices[i], run->settings.ns))
			ret_targets->devices[ret_targets->len++] = &view->devices[i];
	}
	return COMMAND_OK;
}

/* As in the agent: bridges and functions without a driver do not make a group shared. A function
 * that is not listed is a bridge, unless the caller may not list functions. */
char *targets_group_rest(const struct targets *targets, const struct cluster_device *device)
{
	const struct pcidevice *pci = device->object;
	bool all_listed = !(targets->missing.forbidden & CLUSTER_SET(CLUSTER_PCIDEVICE));
	auto_str struct str rest = STR_INIT;

	if (device->type != DEVICE_PCI || !pci)
		return device->type == DEVICE_PCI ? xstrdup("") : NULL;
	for (size_t i = 0; i < pci->status.iommu_group_members.len; i++) {
		const char *address = pci->status.iommu_group_members.items[i];
		const struct cluster_device *other =
			cluster_device_at(targets->cluster, device->node, address);
		auto_free char *name = NULL;

		if (other == device || (!other && all_listed) ||
		    cluster_device_behind(device, address))
			continue;
		if (other && (!other->driver[0] || strncmp(other->class_id, "0604", 4) == 0 ||
			      (other->claim && !other->claim->deletion_timestamp) ||
			      targets_have(targets, other)))
			continue;
		name = names_pcidevice(device->node, address);
		str_addf(&rest, "%s%s", rest.len ? " " : "", name);
	}
	return rest.len > 0 ? str_detach(&rest) : NULL;
}

void targets_done(struct targets *targets)
{
	cluster_free(targets->cluster);
	free(targets->devices);
	*targets = (struct targets){ 0 };
}

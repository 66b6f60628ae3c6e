#include "cli/client/find.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "api/migconfiguration.h"
#include "api/pcidevice.h"
#include "api/sriovgpudevice.h"
#include "api/sriovnetworkdevice.h"
#include "api/vgpudevice.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/model/address.h"
#include "cli/model/cluster.h"
#include "text/out.h"

/* The kind of KIND/NAME, as -o name prints it or as people type it. CLUSTER_KINDS: @word has no
 * such form. */
static enum cluster_kind kind_part(const char *word)
{
	size_t len = strcspn(word, "/");

	if (!word[len])
		return CLUSTER_KINDS;
	/* Kinds of devices and of objects about devices. Not Node: a node may have the name
	 * "node". */
	for (int i = 0; i < CLUSTER_NODE; i++) {
		const struct api_kind *kind = cluster_kind((enum cluster_kind)i);
		size_t kind_len = strlen(kind->kind);
		size_t plural_len = strlen(kind->plural);

		if ((strncasecmp(word, kind->kind, kind_len) == 0 &&
		     (word[kind_len] == '.' || kind_len == len)) ||
		    (strncasecmp(word, kind->plural, plural_len) == 0 &&
		     (word[plural_len] == '.' || plural_len == len)))
			return (enum cluster_kind)i;
	}
	return CLUSTER_KINDS;
}

const char *find_name_part(const char *word)
{
	return kind_part(word) == CLUSTER_KINDS ? word : strchr(word, '/') + 1;
}

const char *find_node_part(const char *word)
{
	static const char *const kinds[] = { "node/", "nodes/" };

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (strncasecmp(word, kinds[i], strlen(kinds[i])) == 0)
			return word + strlen(kinds[i]);
	}
	return word;
}

/* The other kinds are about devices of several types. */
static bool is_of_kind(enum cluster_kind kind, const struct cluster_device *device)
{
	if (kind == CLUSTER_PCIDEVICE || kind == CLUSTER_PCICLAIM)
		return device->type == DEVICE_PCI;
	if (kind == CLUSTER_USBDEVICE || kind == CLUSTER_USBCLAIM)
		return device->type == DEVICE_USB;
	return kind != CLUSTER_MDEV || device->type == DEVICE_MDEV;
}

unsigned find_node_len(const char *word)
{
	size_t len = strcspn(word, "/");

	if (!word[len] || find_name_part(word) != word)
		return 0;
	return (unsigned)len;
}

static bool is_named(const char *word, const struct api_meta *meta)
{
	return meta && strcmp(word, meta->name) == 0;
}

static bool has_name(const char *word, const struct cluster_device *d)
{
	return strcmp(word, d->name) == 0 || is_named(word, d->sriov ? &d->sriov->meta : NULL) ||
	       is_named(word, d->gpu ? &d->gpu->meta : NULL) ||
	       is_named(word, d->vgpu ? &d->vgpu->meta : NULL) ||
	       is_named(word, d->mig ? &d->mig->meta : NULL);
}

static bool has_address(const char *word, const struct cluster_device *d)
{
	size_t node = find_node_len(word);

	if (node == 0)
		return address_means(word, d->address);
	return strncmp(word, d->node, node) == 0 && !d->node[node] &&
	       address_means(word + node + 1, d->address);
}

static void list_candidate(struct str *why, size_t count, const struct cluster_device *device)
{
	if (count == FIND_LISTED)
		str_add(why, "\n  ...");
	if (count >= FIND_LISTED)
		return;
	str_add(why, "\n  ");
	out_text(why, device->name);
	str_add(why, "  (");
	if (device->node[0]) {
		out_text(why, device->node);
		str_add_char(why, '/');
	}
	out_text(why, device->address);
	str_add_char(why, ')');
}

struct search {
	const char *word;
	bool (*matches)(const char *word, const struct cluster_device *device);
	enum cluster_kind kind; /* CLUSTER_KINDS: any */
	struct cluster_device *found;
	struct cluster_device *other; /* of another kind */
	size_t count;
	struct str candidates;
};

static size_t search(const struct cluster_view *view, struct search *s)
{
	for (size_t i = 0; i < view->len; i++) {
		if (!s->matches(s->word, &view->devices[i]))
			continue;
		if (!is_of_kind(s->kind, &view->devices[i])) {
			s->other = &view->devices[i];
			continue;
		}
		list_candidate(&s->candidates, s->count++, &view->devices[i]);
		s->found = &view->devices[i];
	}
	return s->count;
}

static int say_other(const char *word, const struct cluster_device *device, struct str *why)
{
	str_add_char(why, '\'');
	out_text(why, device->name);
	str_addf(why, "' is a %s device, and '", device_type_word(device->type));
	out_text(why, word);
	str_add(why, "' means another kind: leave the kind out");
	return -EINVAL;
}

/* The device behind the bridge that @word, an address or NODE/ADDRESS, names; NULL: no bridge. */
static const struct cluster_device *find_behind(const struct cluster_view *view, const char *word)
{
	size_t node = find_node_len(word);
	const char *address = node > 0 ? word + node + 1 : word;

	for (size_t i = 0; i < view->len; i++) {
		const struct cluster_device *d = &view->devices[i];
		const struct pcidevice *pci = d->type == DEVICE_PCI ? d->object : NULL;

		if (!pci || (node > 0 && (strncmp(word, d->node, node) != 0 || d->node[node])))
			continue;
		for (size_t at = 0; at < pci->status.bridges.len; at++) {
			if (address_means(address, pci->status.bridges.items[at]))
				return d;
		}
	}
	return NULL;
}

static int say_not_listed(const struct cluster_view *view, const char *word, struct str *why)
{
	const struct cluster_device *behind = find_behind(view, word);

	if (!behind)
		str_add(why, "no device ");
	str_add_char(why, '\'');
	out_text(why, word);
	if (!behind) {
		str_add(why, "' is listed: kubectl hostdev tree shows which are");
		return -ENOENT;
	}
	str_add(why, "' is a bridge and cannot be claimed; a device behind it is ");
	out_text(why, behind->name);
	return -EINVAL;
}

int find_device(struct cluster *cluster, const char *word, struct cluster_device **ret_device,
		struct str *why)
{
	const struct cluster_view *view = cluster_view(cluster);
	struct search by_name = { .word = find_name_part(word),
				  .matches = has_name,
				  .kind = kind_part(word) };
	struct search by_address = { .word = word, .matches = has_address, .kind = CLUSTER_KINDS };
	struct search *found = search(view, &by_name) > 0 ? &by_name : &by_address;
	int r = 0;

	if (found->count == 0)
		(void)search(view, found);
	if (found->count == 1) {
		*ret_device = found->found;
	} else if (found->count == 0 && by_name.other) {
		r = say_other(word, by_name.other, why);
	} else if (found->count == 0) {
		r = say_not_listed(view, word, why);
	} else {
		str_add_char(why, '\'');
		out_text(why, word);
		str_addf(why, "' matches %zu devices; use the name or NODE/ADDRESS of one:%s",
			 found->count, str_cstr(&found->candidates));
		r = -ENOTUNIQ;
	}
	str_done(&by_name.candidates);
	str_done(&by_address.candidates);
	return r;
}

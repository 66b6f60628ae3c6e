#include "cli/model/dra_request.h"

#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "api/resourceclaim.h"
#include "base/array.h"
#include "base/mem.h"
#include "cli/model/dra.h"

/* A test of `.type` that does not name the type of device excludes it. */
static bool may_mean(const char *expression, enum device_type type)
{
	static const char *const words[DRA_TYPES][2] = {
		[DEVICE_PCI] = { "\"pci\"", "\"vf\"" },
		[DEVICE_USB] = { "\"usb\"", "\"usb\"" },
		[DEVICE_MDEV] = { "\"mdev\"", "\"mdev\"" },
	};

	return !strstr(expression, ".type") || strstr(expression, words[type][0]) ||
	       strstr(expression, words[type][1]);
}

static void take_selectors(const struct resourceclaim_exactly *from, struct dra_request *request)
{
	for (size_t i = 0; i < from->selectors.len; i++) {
		const char *text = str_or_empty(from->selectors.items[i].cel.expression);

		request->ours = request->ours || strstr(text, DRA_DRIVER);
		for (int type = 0; type < DRA_TYPES; type++)
			request->types[type] =
				request->types[type] && may_mean(text, (enum device_type)type);
	}
}

void dra_request_read(const struct resourceclaim_exactly *exactly, const struct dra_class *class,
		      struct dra_request *ret_request)
{
	struct dra_request request = { .types = { true, true, true } };

	request.ours = strstr(str_or_empty(exactly->device_class), DRA_DRIVER);
	if (class)
		take_selectors(&class->spec, &request);
	take_selectors(exactly, &request);
	for (size_t i = 0; i < exactly->selectors.len; i++)
		str_addf(&request.expressions, "%s%s", request.expressions.len ? "; " : "",
			 str_or_empty(exactly->selectors.items[i].cel.expression));
	*ret_request = request;
}

void dra_request_done(struct dra_request *request)
{
	str_done(&request->expressions);
}

char *dra_request_amount(const struct resourceclaim_exactly *exactly)
{
	long long count = exactly->count > 0 ? exactly->count : 1;

	if (str_match(exactly->allocation_mode, "All"))
		return xstrdup("all devices");
	return xasprintf("%lld device%s", count, count == 1 ? "" : "s");
}

/* The number of devices of these types that DRA offers, and how many of them no claim has. */
static size_t count_offered(struct cluster *cluster, const struct dra_request *request,
			    size_t *ret_free)
{
	const struct cluster_view *view = cluster_view(cluster);
	size_t len = 0;

	*ret_free = 0;
	for (size_t i = 0; i < view->len; i++) {
		const struct cluster_device *device = &view->devices[i];

		if (!device->slice || !request->types[device->type])
			continue;
		len++;
		*ret_free += device->verdict.state == STATE_AVAILABLE;
	}
	return len;
}

char *dra_request_lack(const struct dra_request *request,
		       const struct resourceclaim_exactly *exactly, struct cluster *cluster,
		       unsigned unread)
{
	size_t needed = exactly->count > 1 ? (size_t)exactly->count : 1;
	bool guess = unread & CLUSTER_SET(CLUSTER_RESOURCECLAIM);
	size_t available;
	size_t offered = count_offered(cluster, request, &available);

	if (!request->ours)
		return xstrdup("neither the class nor the request names " DRA_DRIVER
			       ", so its devices are another driver's");
	if (unread & CLUSTER_SET(CLUSTER_SLICE))
		return xstrdup("which devices DRA offers is not known: you may not list "
			       "ResourceSlices");
	if (offered == 0)
		return xstrdup("DRA offers no such device: an entry of the HostDeviceConfig with "
			       "dra: {mode: Claimed} does, for claimed devices, and one with "
			       "{mode: OnDemand} for free PCI functions");
	if (available < needed || request->expressions.len == 0)
		return xasprintf("DRA offers %zu, and %s%zu of these %s free", offered,
				 guess ? "at most " : "", available, available == 1 ? "is" : "are");
	return xasprintf("DRA offers %zu, and %s%zu of these %s free; which of them the request "
			 "accepts, only the scheduler evaluates: %s",
			 offered, guess ? "at most " : "", available, available == 1 ? "is" : "are",
			 request->expressions.buf);
}

/* --- claims that wait ------------------------------------------------------------------------- */

/* Append what a request of hostdev's devices waits for. False: it is another driver's. */
static bool add_request(struct cluster *cluster, const struct resourceclaim_request *from,
			unsigned unread, struct str *to)
{
	const struct resourceclaim_exactly *exactly = &from->exactly;
	const struct dra_class *class =
		exactly->device_class
			? cluster_get(cluster, CLUSTER_DEVICECLASS, exactly->device_class)
			: NULL;
	bool gone = exactly->device_class && !class && !(unread & CLUSTER_SET(CLUSTER_DEVICECLASS));
	struct dra_request request;
	bool ours;

	dra_request_read(exactly, class, &request);
	ours = request.ours;
	if (ours) {
		auto_free char *amount = dra_request_amount(exactly);
		auto_free char *lack = gone ? xstrdup("there is no such DeviceClass")
					    : dra_request_lack(&request, exactly, cluster, unread);

		str_addf(to, "%sasks for %s of the DeviceClass %s: %s", to->len ? "; " : "", amount,
			 str_or_empty(exactly->device_class), lack);
	}
	dra_request_done(&request);
	return ours;
}

static char *maker_of(const struct resourceclaim *claim)
{
	const struct api_owner_ref *pod = api_meta_owner(&claim->meta, "Pod");

	return pod ? xasprintf("%s/%s", str_or_empty(claim->meta.namespace_),
			       str_or_empty(pod->name))
		   : xstrdup("");
}

void dra_waitings_find(struct cluster *cluster, const char *ns, unsigned unread,
		       struct dra_waitings *ret_waitings)
{
	size_t len;
	auto_free const void **claims = cluster_objects(cluster, CLUSTER_RESOURCECLAIM, &len);

	*ret_waitings = (struct dra_waitings){ 0 };
	for (size_t i = 0; i < len; i++) {
		const struct resourceclaim *claim = claims[i];
		auto_str struct str text = STR_INIT;
		bool ours = false;

		if (claim->status.allocation.devices.results.len > 0 ||
		    claim->meta.deletion_timestamp ||
		    (ns && !str_match(claim->meta.namespace_, ns)))
			continue;
		for (size_t r = 0; r < claim->spec.devices.requests.len; r++)
			ours |= add_request(cluster, &claim->spec.devices.requests.items[r], unread,
					    &text);
		if (ours)
			*array_add(ret_waitings) = (struct dra_waiting){
				.ns = xstrdup(str_or_empty(claim->meta.namespace_)),
				.name = xstrdup(claim->meta.name),
				.pod = maker_of(claim),
				.message = str_detach(&text),
			};
	}
}

void dra_waitings_done(struct dra_waitings *waitings)
{
	for (size_t i = 0; i < waitings->len; i++) {
		free(waitings->items[i].ns);
		free(waitings->items[i].name);
		free(waitings->items[i].pod);
		free(waitings->items[i].message);
	}
	array_done(waitings);
}

#include <errno.h>
#include <string.h>

#include "agent/helper/vf/vf_change_state.h"
#include "agent/helper/vf/vf_link.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"

enum { IFINDEX_MAX = 0x7fffffff };

/* The kernel's number of the interface; 0: it has none. */
static int read_ifindex(const struct vf_change *c)
{
	auto_free char *path = xasprintf("net/%s/ifindex", c->seen.interface);
	struct sysfs_attr attr;
	uint64_t number;

	if (!c->seen.interface[0] || sysfs_read(c->dir_fd, path, &attr, NULL) != 0 ||
	    !str_to_u64(attr.text, &number) || number > IFINDEX_MAX)
		return 0;
	return (int)number;
}

/*
 * An agent in a pod finds the interface in the node's /sys, and rtnetlink of its own network namespace
 * does not know it (ENODEV). One that is in the node's namespace without CAP_NET_ADMIN gets EPERM;
 * drivers answer that as well.
 */
static bool is_agents_fault(const struct vf_change *c, const struct vf_link *link, int code)
{
	if (code == -EPERM)
		return !c->options->links->is_admin;
	return code == -ENODEV && read_ifindex(c) == link->ifindex;
}

static int stop_settings(struct vf_change *c, const struct vf_link *link, const struct err *err)
{
	enum transition_reason reason = is_agents_fault(c, link, err->code)
						? REASON_AGENT_NOT_PRIVILEGED
						: REASON_SETTINGS_FAILED;

	return vf_change_stop(c, reason, err->code, "%s", err->msg);
}

/*
 * Is @field of @want to be written? The MAC address of a trusted function that somebody has is his: he
 * may change it, and would lose his connections.
 */
static bool is_wrong(const struct vf_change *c, const struct vf_setting *want,
		     const struct vf_setting *has, enum vf_field field)
{
	if (!vf_setting_differs(want, has, field))
		return false;
	return field != VF_FIELD_MAC || !has || has->trust != 1 ||
	       !vf_change_is_open(c, c->seen.functions.items[want->index]);
}

/* Write what differs. That one cannot be set keeps no other from it. */
static void write_all(struct vf_change *c, const struct vf_link *link,
		      const struct vf_settings *have)
{
	const struct vf_links *links = c->options->links;

	for (size_t i = 0; i < c->job->settings.len; i++) {
		const struct vf_setting *want = &c->job->settings.items[i];
		const struct vf_setting *has = vf_settings_find(have, want->index);

		if (want->index >= (int)c->seen.functions.len)
			continue;
		for (int f = 0; f < VF_FIELDS; f++) {
			enum vf_field field = (enum vf_field)f;
			struct err err = { 0 };

			if (!is_wrong(c, want, has, field))
				continue;
			c->changed = true;
			if (links->write(links->arg, link, want, field, &err) == 0)
				continue;
			err_wrap(&err, "the %s of virtual function %d", vf_field_text(field),
				 want->index);
			(void)stop_settings(c, link, &err);
		}
	}
}

/* How many settings are not as they are wanted; the first is *@ret_want and *@ret_field. */
static size_t count_wrong(const struct vf_change *c, const struct vf_settings *have,
			  const struct vf_setting **ret_want, enum vf_field *ret_field)
{
	size_t wrong = 0;

	for (size_t i = 0; i < c->job->settings.len; i++) {
		const struct vf_setting *want = &c->job->settings.items[i];
		const struct vf_setting *has = vf_settings_find(have, want->index);

		if (want->index >= (int)c->seen.functions.len)
			continue;
		for (int f = 0; f < VF_FIELDS; f++) {
			if (!is_wrong(c, want, has, (enum vf_field)f) || wrong++ > 0)
				continue;
			*ret_want = want;
			*ret_field = (enum vf_field)f;
		}
	}
	return wrong;
}

static int apply(struct vf_change *c, const struct vf_link *link)
{
	const struct vf_links *links = c->options->links;
	auto_vf_settings struct vf_settings before = { 0 };
	auto_vf_settings struct vf_settings after = { 0 };
	const struct vf_setting *want = NULL;
	enum vf_field field = VF_FIELD_MAC;
	struct err err = { 0 };
	size_t wrong;

	if (links->read(links->arg, link, &before, &err) < 0)
		return stop_settings(c, link, &err);
	if (count_wrong(c, &before, &want, &field) == 0)
		return 0;
	write_all(c, link, &before);
	if (links->read(links->arg, link, &after, &err) < 0)
		return stop_settings(c, link, &err);
	wrong = count_wrong(c, &after, &want, &field);
	if (wrong > 0)
		return vf_change_stop(c, REASON_SETTINGS_FAILED, 0,
				      "the %s of virtual function %d is not what it was set to, "
				      "and %zu more settings are not",
				      vf_field_text(field), want->index, wrong - 1);
	return c->end.reason == REASON_NONE ? 0 : VF_CHANGE_STOPPED;
}

int vf_change_settings(struct vf_change *c)
{
	struct vf_link link = { .interface = c->seen.interface };

	if (c->job->settings.len == 0 || c->seen.functions.len == 0)
		return 0;
	vf_change_step(c, STEP_SET_FUNCTIONS);
	link.ifindex = read_ifindex(c);
	if (link.ifindex == 0 || !c->options->links)
		return vf_change_stop(c, REASON_SETTINGS_FAILED, 0,
				      "%s has no network interface, through which its virtual "
				      "functions are set",
				      c->job->address);
	return apply(c, &link);
}

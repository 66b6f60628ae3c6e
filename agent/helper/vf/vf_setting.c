#include "agent/helper/vf/vf_setting.h"

#include <assert.h>
#include <string.h>

#include "base/array.h"

struct vf_setting *vf_settings_add(struct vf_settings *settings, int index)
{
	struct vf_setting *setting = array_add(settings);

	*setting = (struct vf_setting){
		.index = index, .vlan = -1, .qos = -1, .trust = -1, .spoof_check = -1
	};
	return setting;
}

const struct vf_setting *vf_settings_find(const struct vf_settings *settings, int index)
{
	for (size_t i = 0; i < settings->len; i++) {
		if (settings->items[i].index == index)
			return &settings->items[i];
	}
	return NULL;
}

void vf_settings_done(struct vf_settings *settings)
{
	array_done(settings);
}

const char *vf_field_text(enum vf_field field)
{
	static const char *const texts[VF_FIELDS] = {
		[VF_FIELD_MAC] = "MAC address",
		[VF_FIELD_VLAN] = "VLAN",
		[VF_FIELD_TRUST] = "trust",
		[VF_FIELD_SPOOF_CHECK] = "spoof check",
	};

	assert(field < VF_FIELDS);
	return texts[field];
}

/* A priority that is not asked for is 0, because it is set with the VLAN. */
static bool vlan_differs(const struct vf_setting *want, const struct vf_setting *have)
{
	int qos = want->qos < 0 ? 0 : want->qos;

	return want->vlan >= 0 && (!have || have->vlan != want->vlan || have->qos != qos);
}

bool vf_setting_differs(const struct vf_setting *want, const struct vf_setting *have,
			enum vf_field field)
{
	switch (field) {
	case VF_FIELD_MAC:
		return want->mac[0] && (!have || strcmp(want->mac, have->mac) != 0);
	case VF_FIELD_VLAN:
		return vlan_differs(want, have);
	case VF_FIELD_TRUST:
		return want->trust >= 0 && (!have || have->trust != want->trust);
	case VF_FIELD_SPOOF_CHECK:
		return want->spoof_check >= 0 && (!have || have->spoof_check != want->spoof_check);
	case VF_FIELDS:
		break;
	}
	return false;
}

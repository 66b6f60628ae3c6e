/* vf_setting: the settings of one virtual function of a network card. Plain values. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { VF_MAC_SIZE = 18, VF_INDEX_MAX = 65534, VF_VLAN_MAX = 4094, VF_QOS_MAX = 7 };

enum vf_field { VF_FIELD_MAC, VF_FIELD_VLAN, VF_FIELD_TRUST, VF_FIELD_SPOOF_CHECK, VF_FIELDS };

/* "" or -1: not known, or to be left as it is. */
struct vf_setting {
	int index;
	char mac[VF_MAC_SIZE]; /* in lower case */
	int vlan;
	int qos;
	int trust;       /* 1: on */
	int spoof_check; /* 1: on */
};

struct vf_settings {
	struct vf_setting *items;
	size_t len;
	size_t cap;
};

/* Append a setting with only its index. */
struct vf_setting *vf_settings_add(struct vf_settings *settings, int index);

/* The setting of the function @index; NULL: none. */
const struct vf_setting *vf_settings_find(const struct vf_settings *settings, int index);
void vf_settings_done(struct vf_settings *settings);

/* "MAC address", "VLAN", ... */
const char *vf_field_text(enum vf_field field);

/* Does @want ask for @field, and @have (NULL: nothing is known) not have it so? */
bool vf_setting_differs(const struct vf_setting *want, const struct vf_setting *have,
			enum vf_field field);

#define auto_vf_settings __attribute__((cleanup(vf_settings_done)))

#include "cli/model/part.h"

#include <stdlib.h>
#include <string.h>

#include "api/migconfiguration.h"
#include "api/pcidevice.h"
#include "api/vgpudevice.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/model/cluster.h"

bool part_of_vgpu(const struct vgpudevice *vgpu, bool used, const struct node_fault *fault,
		  struct part *ret_part)
{
	const char *made = vgpu->status.type_name;
	const char *wanted = vgpu->spec.type_name;

	if (!vgpu->spec.enabled &&
	    (!vgpu->status.status || strcmp(vgpu->status.status, VGPUDEVICE_CONFIGURED) != 0))
		return false;
	*ret_part = (struct part){
		.what = "vGPU",
		.text = xstrdup(made && made[0] ? made
				: wanted        ? wanted
						: ""),
		.verdict = state_judge_part(&vgpu->status.conditions, used, fault),
	};
	return true;
}

/* "2 of 7 MIG 1g.5gb, 1 of 2 MIG 3g.20gb". */
static char *instances_text(const struct mig_profiles *profiles)
{
	struct str text = STR_INIT;

	for (size_t i = 0; i < profiles->len; i++) {
		const struct mig_profile *profile = &profiles->items[i];

		if (profile->instances.len > 0)
			str_addf(&text, "%s%zu of %d %s", text.len > 0 ? ", " : "",
				 profile->instances.len, profile->total,
				 profile->name ? profile->name : "MIG");
	}
	return str_detach(&text);
}

bool part_of_mig(const struct migconfiguration *mig, const struct node_fault *fault,
		 struct part *ret_part)
{
	auto_free char *text = instances_text(&mig->status.profiles);

	if (!mig->spec.enabled && !text[0])
		return false;
	*ret_part = (struct part){
		.what = "MIG",
		.text = take_ptr(text),
		.verdict = state_judge_part(&mig->status.conditions, false, fault),
	};
	return true;
}

size_t parts_of(const struct cluster_device *device, struct part ret_parts[PARTS_MAX])
{
	bool used = device->allocations && device->allocations->len > 0;
	size_t len = 0;

	if (device->vgpu && part_of_vgpu(device->vgpu, used, device->fault, &ret_parts[len]))
		len++;
	if (device->mig && part_of_mig(device->mig, device->fault, &ret_parts[len]))
		len++;
	return len;
}

void part_done(struct part *part)
{
	free(part->text);
	*part = (struct part){ 0 };
}

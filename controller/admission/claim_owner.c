#include "controller/admission/claim_owner.h"

#include "api/kind.h"
#include "api/meta.h"
#include "api/vgpudevice.h"
#include "base/mem.h"
#include "controller/admission/device_use.h"
#include "controller/admission/known.h"
#include "controller/admission/rule.h"
#include "controller/webhook/admission_review.h"

/* Harvester's own controller, if both are installed. */
static const char harvester[] =
	"system:serviceaccount:harvester-system:harvester-pcidevices-controller";

bool claim_owner_refused(const struct rule_case *c, enum view_kind kind,
			 const struct api_meta *claim)
{
	const char *device = view_whole(kind)->kind;
	const struct api_owner_ref *owner = api_meta_owner(claim, device);
	const char *uid = known_uid(c->known, kind, claim->name);
	auto_free char *name = NULL;

	if (!owner)
		return false;
	name = rule_quote(owner->name);
	if (!known_same(owner->name, claim->name))
		return rule_refuse(
			c, RULE_INVALID,
			"metadata.ownerReferences names %s '%s': a claim has the name of "
			"its device; leave ownerReferences out, it is filled in",
			device, name);
	if (*uid && !known_same(owner->uid, uid))
		return rule_refuse(c, RULE_INVALID,
				   "metadata.ownerReferences has the uid of an earlier %s '%s', so "
				   "that the claim would be deleted at once: leave ownerReferences "
				   "out, it is filled in",
				   device, name);
	return false;
}

/* A vGPU's claim has the vGPU's name and is deleted with it. Without this check, anybody could
 * name any vGPU as owner of his claim and block the deletion of another device's claim. */
static bool refuse_vgpu(const struct rule_case *c, const struct api_meta *claim)
{
	const struct api_owner_ref *owner = api_meta_owner(claim, vgpudevice_kind.kind);
	const struct view *vgpu = owner && known_same(owner->name, claim->name)
					  ? known_vgpu(c->known, owner->name)
					  : NULL;

	if (!vgpu || vgpu->deleting || !vgpu->enabled || known_same(c->request->user, harvester))
		return false;
	return rule_refuse(c, RULE_CONFLICT,
			   "it belongs to VGPUDevice '%s', which is enabled: set spec.enabled of "
			   "that to false, and the claim goes with it",
			   owner->name);
}

void claim_deletion(const struct rule_case *c, const struct api_meta *claim, const char *node)
{
	auto_free char *user = NULL;
	auto_free char *request = NULL;

	if (claim->deletion_timestamp || known_node_gone(c->known, node) || refuse_vgpu(c, claim))
		return;
	user = device_use(c->known, claim->name);
	request = user ? NULL : device_use_request(c->known, claim->name);
	if (user)
		rule_refuse(c, RULE_CONFLICT, "%s", user);
	else if (request)
		rule_warn(c, "%s", request);
}

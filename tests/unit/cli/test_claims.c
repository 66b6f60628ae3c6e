#include "unit/suite.h"

#include <string.h>

#include "cli/client/claims.h"
#include "unit/cli/made.h"

#define ALICE "{'metadata':{'name':'vm1-000003000'},'spec':{'userName':'alice'"

static struct compare_case {
	const char *name;
	const char *claim;
	struct claim_spec spec;
	enum claim_change change;
	const char *text; /* NULL: none */
} compares[] = {
	{ "no flag asks for nothing", ALICE "}}", { 0 }, CLAIM_SAME, NULL },
	{ "nor does what the claim has already",
	  ALICE ",'driver':'mlx5_vfio_pci','includeIOMMUGroup':true}}",
	  { .user = "alice", .driver = "mlx5_vfio_pci", .include_group = true },
	  CLAIM_SAME,
	  NULL },
	{ "vfio-pci is the driver of a claim without one",
	  ALICE "}}",
	  { .driver = "vfio-pci" },
	  CLAIM_SAME,
	  NULL },
	{ "a flag that is left out does not take it away",
	  ALICE ",'driver':'mlx5_vfio_pci','includeIOMMUGroup':true}}",
	  { 0 },
	  CLAIM_SAME,
	  NULL },
	{ "the group is added",
	  ALICE "}}",
	  { .include_group = true },
	  CLAIM_PATCH,
	  "{\"spec\":{\"includeIOMMUGroup\":true}}" },
	{ "so is that the device has no driver afterwards",
	  ALICE "}}",
	  { .driverless = true },
	  CLAIM_PATCH,
	  "{\"spec\":{\"release\":\"None\"}}" },
	{ "and both at once",
	  ALICE "}}",
	  { .include_group = true, .driverless = true },
	  CLAIM_PATCH,
	  "{\"spec\":{\"includeIOMMUGroup\":true,\"release\":\"None\"}}" },
	{ "but not what is so",
	  ALICE ",'release':'None'}}",
	  { .driverless = true },
	  CLAIM_SAME,
	  NULL },
	{ "another driver is an error",
	  ALICE "}}",
	  { .driver = "evil" },
	  CLAIM_OTHER,
	  "already claimed, with driver 'vfio-pci': the driver of a claim cannot change; release "
	  "it, and claim it again with --driver evil" },
	{ "also beside what could be added",
	  ALICE ",'driver':'mlx5_vfio_pci'}}",
	  { .driver = "vfio-pci", .include_group = true },
	  CLAIM_OTHER,
	  "already claimed, with driver 'mlx5_vfio_pci': the driver of a claim cannot change; "
	  "release it, and claim it again with --driver vfio-pci" },
	{ "so is another user",
	  ALICE "}}",
	  { .user = "bob" },
	  CLAIM_OTHER,
	  "already claimed, by 'alice': release it, and claim it again with --for bob" },
	{ "and a user where there is none",
	  "{'metadata':{'name':'vm1-000003000'}}",
	  { .user = "bob" },
	  CLAIM_OTHER,
	  "already claimed, for nobody: release it, and claim it again with --for bob" },
};

static void claims_compare_so(void **state)
{
	const struct compare_case *c = *state;
	struct cluster *cluster = made_cluster();
	auto_free char *text = NULL;

	made_put(cluster, CLUSTER_PCICLAIM, c->claim);
	assert_int_equal(claim_compare(cluster_device(cluster, DEVICE_PCI, "vm1-000003000"),
				       &c->spec, &text),
			 c->change);
	assert_string_equal(text ? text : "", c->text ? c->text : "");
	cluster_free(cluster);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, compares, claims_compare_so);
	return suite_run(&suite, "claims");
}

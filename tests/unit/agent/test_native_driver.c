#include "agent/inventory/native_driver.h"

#include "unit/suite.h"

static struct driver_case {
	const char *name;
	const char *driver;
	bool passthrough;
	bool valid;
} cases[] = {
	{ "a NIC's driver is its own", "e1000e", false, true },
	{ "a driver with a dash is one", "xhci-hcd", false, true },
	{ "vfio-pci passthrough", "vfio-pci", true, false },
	{ "a variant of it passthrough", "mlx5_vfio_pci", true, false },
	{ "pci-stub passthrough", "pci-stub", true, false },
	{ "no driver is none", NULL, false, false },
	{ "an empty text is none", "", false, false },
	{ "a path is none", "../e1000e", false, false },
	{ "63 characters are a name",
	  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false, true },
	{ "64 characters are none",
	  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false, false },
};

static void driver_is(void **state)
{
	const struct driver_case *c = *state;

	assert_int_equal(native_driver_is_passthrough(c->driver), c->passthrough);
	assert_int_equal(native_driver_valid(c->driver), c->valid);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, driver_is);
	return suite_run(&suite, "native_driver");
}

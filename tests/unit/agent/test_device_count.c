#include "agent/device_count.h"

#include <string.h>

#include "agent/inventory/inventory.h"
#include "api/pcidevice.h"
#include "api/usbdevice.h"
#include "base/str.h"
#include "kube/metrics.h"
#include "unit/suite.h"

static char type_text[] = "Claimable";
static char true_text[] = "True";
static char false_text[] = "False";
static struct api_condition claimable = { .type = type_text, .status = true_text };
static struct api_condition unclaimable = { .type = type_text, .status = false_text };

static struct pcidevice pci_with(char *driver, struct api_condition *condition)
{
	return (struct pcidevice){ .status = { .kernel_driver_in_use = driver,
					       .conditions = { .items = condition, .len = 1 } } };
}

static void shows(const struct metrics *metrics, const char *kind, const char *state, int n)
{
	auto_str struct str text = STR_INIT;
	auto_free char *line =
		xasprintf("hostdev_devices{kind=\"%s\",state=\"%s\"} %d\n", kind, state, n);

	metrics_write(metrics, &text);
	if (!strstr(str_cstr(&text), line))
		fail_msg("no %s in %s", line, str_cstr(&text));
}

static void devices_are_counted_by_state(void **state)
{
	char e1000e[] = "e1000e", pcieport[] = "pcieport", vfio_pci[] = "vfio-pci";
	char mlx5[] = "mlx5_vfio_pci";
	struct pcidevice nic = pci_with(e1000e, &claimable);
	struct pcidevice bridge = pci_with(pcieport, &unclaimable);
	struct pcidevice bound = pci_with(vfio_pci, &claimable);
	struct pcidevice variant = pci_with(mlx5, &claimable);
	struct usbdevice stick = { .status.conditions = { .items = &claimable, .len = 1 } };
	void *pci[] = { &nic, &bridge, &bound, &variant };
	void *usb[] = { &stick };
	void *mdevs[] = { NULL, NULL };
	struct inventory inventory = { .sets = {
					       [INVENTORY_PCI] = { .objects = pci,
								   .len = ARRAY_LEN(pci) },
					       [INVENTORY_USB] = { .objects = usb,
								   .len = ARRAY_LEN(usb) },
					       [INVENTORY_MDEV] = { .objects = mdevs,
								    .len = ARRAY_LEN(mdevs) },
				       } };
	struct metrics *metrics = metrics_new();
	struct metric *devices = device_count_new(metrics);

	shows(metrics, "PCIDevice", "passthrough", 0);
	shows(metrics, "MediatedDevice", "present", 0);
	device_count_set(devices, &inventory);
	shows(metrics, "PCIDevice", "claimable", 1);
	shows(metrics, "PCIDevice", "unclaimable", 1);
	shows(metrics, "PCIDevice", "passthrough", 2);
	shows(metrics, "USBDevice", "claimable", 1);
	shows(metrics, "USBDevice", "unclaimable", 0);
	shows(metrics, "MediatedDevice", "present", 2);
	shows(metrics, "MediatedDeviceParent", "present", 0);
	inventory.sets[INVENTORY_PCI].len = 1;
	device_count_set(devices, &inventory);
	shows(metrics, "PCIDevice", "passthrough", 0);
	metrics_free(metrics);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "devices are counted by state", devices_are_counted_by_state, NULL);
	return suite_run(&suite, "device_count");
}

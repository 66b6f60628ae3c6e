#include "agent/nvml/nvml.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/nvml/reply.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"

#define FUNCTION_ROW(name, suffix, arguments) \
	{ "nvml" #name, "nvml" #name suffix, offsetof(struct nvml, name) },

static const struct {
	const char *plain;
	const char *newest;
	size_t at;
} functions[] = { NVML_FUNCTIONS(FUNCTION_ROW) };

/* Where drivers are installed: Red Hat's and the runfile's folder, Debian's, and those of other
 * machines. */
static const char *const folders[] = {
	"usr/lib64",
	"usr/lib/x86_64-linux-gnu",
	"usr/lib/x86_64-linux-gnu/nvidia/current",
	"usr/lib/aarch64-linux-gnu",
	"usr/lib/aarch64-linux-gnu/nvidia/current",
	"lib64",
	"lib/x86_64-linux-gnu",
	"lib/aarch64-linux-gnu",
};

/* What the header of the library says of each code, and what a person can do about it. */
static const struct {
	int code;
	const char *meaning;
} meanings[] = {
	{ NVML_SUCCESS, "success" },
	{ NVML_UNINITIALIZED,
	  "the library is not initialized, or the handle is from before a reset" },
	{ NVML_INVALID_ARGUMENT, "invalid argument" },
	{ NVML_NOT_SUPPORTED, "not supported by this GPU" },
	{ NVML_NO_PERMISSION, "no permission; run hostdev-nvml as root" },
	{ NVML_NOT_FOUND, "not found" },
	{ 7, "the buffer is too small" },
	{ 8, "the GPU has no external power; check its power cables" },
	{ NVML_DRIVER_NOT_LOADED,
	  "the NVIDIA driver is not loaded; load the kernel module nvidia" },
	{ NVML_TIMEOUT, "timeout" },
	{ 11, "the kernel found an interrupt problem with the GPU" },
	{ NVML_NO_LIBRARY, "a library of the NVIDIA driver is missing; install the driver, or "
			   "give the container its libraries" },
	{ NVML_NO_FUNCTION, "this driver does not have the function" },
	{ 14, "the GPU's infoROM is corrupt" },
	{ NVML_GPU_LOST, "GPU is lost: it fell off the bus or is inaccessible; reset it or "
			 "reboot the machine" },
	{ NVML_RESET_REQUIRED, "the GPU needs a reset" },
	{ NVML_BLOCKED, "the operating system blocks access to the GPU; give the container the "
			"device nodes /dev/nvidiactl and /dev/nvidia<N>" },
	{ NVML_VERSION_MISMATCH,
	  "the driver's library and its kernel module have different versions; reload the "
	  "kernel module or reboot the machine" },
	{ NVML_IN_USE, "the GPU is in use" },
	{ 20, "insufficient memory" },
	{ 21, "no data" },
	{ 22, "the operation is not available because ECC is enabled" },
	{ 23, "insufficient resources" },
	{ 25, "the structure's version is not the driver's" },
	{ 26, "the function is deprecated" },
	{ 27, "the GPU or its fabric is not ready yet" },
	{ 28, "no GPU was found" },
	{ 29, "invalid state" },
	{ 30, "the kind of reset is not supported" },
	{ NVML_UNKNOWN, "unknown error of the driver; see the kernel log" },
};

const char *nvml_meaning(int code)
{
	for (size_t i = 0; i < ARRAY_LEN(meanings); i++) {
		if (meanings[i].code == code)
			return meanings[i].meaning;
	}
	return "an error that this version of hostdev does not know";
}

bool nvml_is_gone(int code)
{
	return code == NVML_GPU_LOST || code == NVML_RESET_REQUIRED || code == NVML_UNINITIALIZED;
}

static void *open_below(const char *driver_root, const char *file)
{
	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		auto_free char *path = xasprintf("%s/%s/%s", driver_root, folders[i], file);

		/* A file that is there but cannot be opened is an error to tell of. */
		if (access(path, F_OK) == 0)
			return dlopen(path, RTLD_NOW | RTLD_LOCAL);
	}
	return NULL;
}

int nvml_open(struct nvml *nvml, const struct nvml_place *place, struct err *err)
{
	const char *file = place->file;
	const char *driver_root = place->driver_root;
	const char *why;

	(void)dlerror();
	if (driver_root)
		nvml->library = open_below(driver_root, file);
	else
		nvml->library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	if (!nvml->library) {
		why = dlerror();
		if (!why)
			return err_set(
				err, ERR_RETRY, -ENOENT,
				"no %s in the folders of drivers below %s; install the NVIDIA "
				"driver there",
				file, driver_root);
		return err_set(err, ERR_RETRY, -ENOENT,
			       "%s; install the NVIDIA driver, or give hostdev-nvml its library",
			       why);
	}
	for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
		void *symbol = dlsym(nvml->library, functions[i].newest);

		if (!symbol)
			symbol = dlsym(nvml->library, functions[i].plain);
		memcpy((char *)nvml + functions[i].at, &symbol, sizeof(symbol));
	}
	if (nvml->Init && nvml->Shutdown)
		return 0;
	*nvml = (struct nvml){ 0 };
	return err_set(err, ERR_RETRY, -EINVAL, "%s: it has no nvmlInit or nvmlShutdown", file);
}

bool nvml_begin(struct nvml *nvml, const struct nvml_place *place, struct reply *reply)
{
	struct err err = { 0 };
	int code;

	if (!nvml->library && nvml_open(nvml, place, &err) < 0) {
		reply_failed(reply, NULL, NVML_NO_LIBRARY, err.msg);
		return false;
	}
	code = nvml->Init();
	if (code == NVML_SUCCESS)
		return true;
	reply_failed(reply, "Init", code, NULL);
	return false;
}

bool nvml_is_address(const char *text)
{
	size_t len = strnlen(text, NVML_ADDRESS_SIZE);

	return len >= strlen("0:0:0") && len < NVML_ADDRESS_SIZE &&
	       strspn(text, "0123456789abcdefABCDEF:.") == len && strchr(text, ':');
}

void nvml_address(const struct nvml_pci *pci, char ret_address[NVML_ADDRESS_SIZE])
{
	char bus_id[NVML_ADDRESS_SIZE];
	const char *from = bus_id;

	/* The oldest form of the structure has only the numbers. */
	memcpy(bus_id, pci->bus_id, sizeof(bus_id));
	bus_id[sizeof(bus_id) - 1] = '\0';
	if (!bus_id[0])
		(void)snprintf(bus_id, sizeof(bus_id), "%04x:%02x:%02x.0", pci->domain,
			       pci->bus & 0xff, pci->device & 0xff);
	/* The kernel writes domains as %04x, the library as %08X. */
	while (strcspn(from, ":") > 4 && *from == '0')
		from++;
	ret_address[0] = '\0';
	if (!nvml_is_address(from))
		return;
	(void)snprintf(ret_address, NVML_ADDRESS_SIZE, "%s", from);
	for (char *c = ret_address; *c; c++)
		*c = (char)tolower((unsigned char)*c);
}

void nvml_pci_of(const char *address, struct nvml_pci *ret_pci)
{
	char copy[NVML_ADDRESS_SIZE];
	char *rest = copy;
	uint64_t numbers[4] = { 0 }; /* domain, bus, device, function */
	bool fine = true;

	(void)snprintf(copy, sizeof(copy), "%s", address);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		fine = str_to_hex(strsep(&rest, i < 2 ? ":" : "."), &numbers[i]) && fine;
	*ret_pci = (struct nvml_pci){ 0 };
	if (!fine)
		return;
	ret_pci->domain = (uint32_t)numbers[0];
	ret_pci->bus = (uint32_t)numbers[1] & 0xff;
	ret_pci->device = (uint32_t)numbers[2] & 0xff;
	(void)snprintf(ret_pci->bus_id, sizeof(ret_pci->bus_id), "%08X:%02X:%02X.%X",
		       ret_pci->domain, ret_pci->bus, ret_pci->device, (unsigned)numbers[3] & 0xf);
}

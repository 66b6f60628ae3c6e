#include "agent/helper/sys/pci_serial.h"

#include <endian.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/helper/sys/sysfs.h"
#include "base/mem.h"

enum {
	EXTENDED_START = 0x100,
	EXTENDED_END = 0x1000,
	EXTENDED_STEPS = (EXTENDED_END - EXTENDED_START) / 4, /* a ring of capabilities ends here */
	CAPABILITY_SERIAL = 0x0003,
};

static bool read_word(int fd, off_t at, uint32_t *ret_word)
{
	uint32_t word;

	if (pread(fd, &word, sizeof(word), at) != (ssize_t)sizeof(word))
		return false;
	*ret_word = le32toh(word);
	return true;
}

/* Four bytes at a time: on a virtual machine each of them is an exit to the hypervisor. */
static bool find_serial(int fd, uint64_t *ret_serial)
{
	uint32_t at = EXTENDED_START;
	uint32_t header;
	uint32_t low;
	uint32_t high;

	for (int i = 0; i < EXTENDED_STEPS && at >= EXTENDED_START; i++) {
		if (!read_word(fd, at, &header) || header == 0 || header == UINT32_MAX)
			return false;
		if ((header & 0xffff) != CAPABILITY_SERIAL) {
			at = header >> 20 & 0xffc;
			continue;
		}
		if (!read_word(fd, at + 4, &low) || !read_word(fd, at + 8, &high))
			return false;
		*ret_serial = (uint64_t)high << 32 | low;
		return *ret_serial != 0;
	}
	return false;
}

static bool is_awake(int dir_fd)
{
	struct sysfs_attr status;

	return sysfs_read(dir_fd, "power/runtime_status", &status, NULL) == 0 &&
	       strcmp(status.text, "active") == 0;
}

static void format_serial(uint64_t serial, char ret_serial[PCI_SERIAL_SIZE])
{
	char *at = ret_serial;

	for (int shift = 60; shift >= 0; shift -= 4) {
		*at++ = "0123456789abcdef"[serial >> shift & 0xf];
		if (shift % 8 == 0)
			*at++ = shift > 0 ? '-' : '\0';
	}
}

bool pci_serial_read(int dir_fd, bool *config_denied, char ret_serial[PCI_SERIAL_SIZE])
{
	auto_close int fd = -1;
	uint32_t word;
	uint64_t serial;
	struct stat st;

	if (*config_denied)
		return false;
	fd = openat(dir_fd, "config", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size < EXTENDED_END)
		return false;
	if (!is_awake(dir_fd))
		return false;
	if (!read_word(fd, EXTENDED_START, &word)) {
		*config_denied = true;
		return false;
	}
	if (!find_serial(fd, &serial))
		return false;
	format_serial(serial, ret_serial);
	return true;
}

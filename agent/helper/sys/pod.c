#include "agent/helper/sys/pod.h"

#include <string.h>

#include "agent/helper/sys/devpath.h"
#include "agent/helper/sys/sysfs.h"
#include "agent/helper/sys/value.h"
#include "base/file.h"
#include "base/mem.h"

#define LOGS "1/root/var/log/pods"

enum { CGROUP_MAX = 64 << 10, HASH_LEN = 32 };

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* A UUID with dashes, or 32 digits. */
static bool is_uid(const char *uid, size_t len)
{
	if (len != POD_UID_SIZE - 1 && len != HASH_LEN)
		return false;
	for (size_t i = 0; i < len; i++) {
		bool dash = len != HASH_LEN && (i == 8 || i == 13 || i == 18 || i == 23);

		if (dash ? uid[i] != '-' : !is_hex(uid[i]))
			return false;
	}
	return true;
}

/* The uid behind "pod" in a part of a cgroup's path. */
static bool read_part(const char *part, size_t len, char ret_uid[POD_UID_SIZE])
{
	static const char slice[] = ".slice";
	size_t tail = sizeof(slice) - 1;
	bool systemd = len > tail && memcmp(part + len - tail, slice, tail) == 0;
	char uid[POD_UID_SIZE] = "";
	size_t uid_len;
	const char *mark;

	if (systemd) {
		len -= tail;
		mark = memrchr(part, '-', len);
		if (!mark)
			return false;
		len -= (size_t)(mark + 1 - part);
		part = mark + 1;
	}
	if (len < 3 || len - 3 >= POD_UID_SIZE || memcmp(part, "pod", 3) != 0)
		return false;
	uid_len = len - 3;
	for (size_t i = 0; i < uid_len; i++)
		uid[i] = systemd && part[3 + i] == '_' ? '-' : part[3 + i];
	if (!is_uid(uid, uid_len))
		return false;
	memcpy(ret_uid, uid, sizeof(uid));
	return true;
}

bool pod_find_uid(const char *text, size_t len, char ret_uid[POD_UID_SIZE])
{
	bool found = false;
	size_t start = 0;

	for (size_t i = 0; i <= len; i++) {
		if (i < len && text[i] != '/' && text[i] != '\n')
			continue;
		found = read_part(text + start, i - start, ret_uid) || found;
		start = i + 1;
	}
	return found;
}

/* "NAMESPACE_NAME_UID" to "NAMESPACE/NAME"; NULL if @folder is not that of @uid. */
static char *name_of_folder(const char *folder, const char *uid)
{
	size_t len = strlen(folder);
	size_t tail = strlen(uid) + 1;
	const char *split = strchr(folder, '_');
	size_t namespace_len;
	char *name;

	if (!split || len <= tail || folder[len - tail] != '_' ||
	    strcmp(folder + len - tail + 1, uid) != 0)
		return NULL;
	namespace_len = (size_t)(split - folder);
	if (len - tail <= namespace_len || !value_is_name(folder, namespace_len) ||
	    !value_is_name(split + 1, len - tail - namespace_len - 1))
		return NULL;
	name = xstrndup(folder, len - tail);
	name[namespace_len] = '/';
	return name;
}

/* The kubelet names the folder of a pod's logs after the pod, on the root that process 1 sees. */
static char *find_name(int proc_fd, const char *uid)
{
	auto_names struct sysfs_names names = { 0 };

	if (sysfs_list(proc_fd, LOGS, &names, NULL) != 0)
		return NULL;
	for (size_t i = 0; i < names.len; i++) {
		char *name = name_of_folder(names.items[i], uid);

		if (name)
			return name;
	}
	return NULL;
}

char *pod_of_process(int proc_fd, const char *pid)
{
	auto_free char *path = xasprintf("%s/cgroup", pid);
	auto_free char *text = NULL;
	char uid[POD_UID_SIZE];
	size_t len = 0;
	char *name;

	if (file_read(proc_fd, path, CGROUP_MAX, &text, &len, NULL) < 0)
		return NULL;
	if (!pod_find_uid(text, len, uid))
		return NULL;
	name = find_name(proc_fd, uid);
	return name ? name : xstrdup(uid);
}

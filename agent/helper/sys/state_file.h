/*
 * state_file: small files in a folder of the state directory, each of which lasts through a power cut
 * once it is written. What they say is their owners' (record, mdev_record).
 */
#pragma once

#include <stddef.h>

struct err;
struct str;
struct sysfs_names;

enum {
	STATE_FILE_MAX = 64 << 10, /* a longer file is none of ours */
};

/* Outcome of state_file_read(): there is none. */
enum { STATE_FILE_ABSENT = 1 };

/* Open the folder @folder below @state_fd into *@ret_fd: 0, STATE_FILE_ABSENT, or < 0 with @err. */
int state_folder_open(int state_fd, const char *folder, int *ret_fd, struct err *err);

/* Open the folder and list it. 0, STATE_FILE_ABSENT, or < 0 with @err: also when it has more than @max
 * files, since a part of a list must not be taken for the whole. */
int state_folder_list(int state_fd, const char *folder, size_t max, int *ret_fd,
		      struct sysfs_names *ret_names, struct err *err);

/*
 * Read the file @name in the folder @folder_fd; the caller frees *@ret_text. 0, STATE_FILE_ABSENT, or < 0:
 * ERR_INVALID with -EBADMSG if it is no file.
 */
int state_file_read(int folder_fd, const char *name, char **ret_text, size_t *ret_len,
		    struct err *err);

/* Make the file say @text, which ends in a newline, and last. The folder is made if need be; nothing is
 * written if the file says so already. */
int state_file_write(int state_fd, const char *folder, const char *name, struct str *text,
		     struct err *err);

/* Remove the file for good; that there is none is fine. */
int state_file_remove(int state_fd, const char *folder, const char *name, struct err *err);

/*
 * cdi_spec: the files of a prepared ResourceClaim. The CDI file tells the container runtime what
 * containers get; the metadata files tell the programs in a container which devices it has.
 *
 *	<cdi_dir>/hostdev.io-device_<UID>.json        one CDI device per request of the claim
 *	<metadata_dir>/<UID>/<request>.json           mounted: the devices of the request (KEP-5304)
 *	<metadata_dir>/<UID>/<request>.v1alpha1.json  the same in the form that KubeVirt 1.8 reads
 *
 * Their content depends only on the claim, so they can be written again at any time. The CDI file
 * does not set the owner of a device node; the runtime then uses the user of the container.
 *
 * When a file is renamed, the runtime reads the CDI folder again: every file that ends in ".json",
 * hidden or not (pkg/cdi/cache.go and spec-dirs.go of container-device-interface). So each file is
 * written under another ending and then renamed.
 */
#pragma once

struct err;
struct prepared_claim;
struct prepared_request;

#define CDI_SPEC_KIND "hostdev.io/device"

enum cdi_spec_written {
	CDI_SPEC_SAME = 0,    /* all files were up to date          */
	CDI_SPEC_WRITTEN = 1, /* at least one was missing or outdated */
};

/* The folders of the files, under the same paths on the host and for this process. Borrowed. */
struct cdi_place {
	const char *cdi_dir;      /* "/var/run/cdi" */
	const char *metadata_dir; /* in a folder that only root can write to */
};

/* The qualified name of the request's CDI device, "hostdev.io/device=<UID>-<request>". The caller
 * frees it, as with the next two. */
char *cdi_spec_id(const struct prepared_claim *claim, const struct prepared_request *request);
/* The path of the claim's CDI file. */
char *cdi_spec_path(const struct cdi_place *place, const char *uid);
/* The content of that file. */
char *cdi_spec_text(const struct cdi_place *place, const struct prepared_claim *claim);

/* Write the files that are missing or outdated, the CDI file last. Creates the folders. Returns
 * enum cdi_spec_written, or < 0. */
int cdi_spec_write(const struct cdi_place *place, const struct prepared_claim *claim,
		   struct err *err);

/* Remove the files of the claim with this UID, the CDI file first. 0 also if there are none. */
int cdi_spec_remove(const struct cdi_place *place, const char *uid, struct err *err);

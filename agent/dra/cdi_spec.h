/*
 * cdi_spec: the files of a prepared ResourceClaim, from which the container runtime learns what a
 * container gets, and the programs in it which devices they have.
 *
 *	<cdi_dir>/hostdev.io-device_<UID>.json        a CDI device for each request of the claim
 *	<metadata_dir>/<UID>/<request>.json           mounted: the devices of the request (KEP-5304)
 *	<metadata_dir>/<UID>/<request>.v1alpha1.json  likewise, as KubeVirt 1.8 reads them
 *
 * Their contents depend on the claim alone, so they can be made again at any time. The owner of a
 * device node is left out: the runtime then takes the user of the container.
 *
 * The runtime reads the CDI folder again when a file in it is renamed, and whatever ends in ".json",
 * hidden or not (pkg/cdi/cache.go and spec-dirs.go of container-device-interface). So each file is
 * written beside under another ending, and renamed.
 */
#pragma once

struct err;
struct prepared_claim;
struct prepared_request;

#define CDI_SPEC_KIND "hostdev.io/device"

enum cdi_spec_written {
	CDI_SPEC_SAME = 0,    /* all files were as they should be        */
	CDI_SPEC_WRITTEN = 1, /* one of them was missing, or had changed */
};

/* Where the files are, on the host and for us. Borrowed. */
struct cdi_place {
	const char *cdi_dir;      /* "/var/run/cdi" */
	const char *metadata_dir; /* in a folder that only root may change */
};

/* The qualified name of the request's device, "hostdev.io/device=<UID>-<request>". The caller
 * frees, as with the next two. */
char *cdi_spec_id(const struct prepared_claim *claim, const struct prepared_request *request);
/* The path of the claim's CDI file. */
char *cdi_spec_path(const struct cdi_place *place, const char *uid);
/* Its text. */
char *cdi_spec_text(const struct cdi_place *place, const struct prepared_claim *claim);

/* Write those files that are missing or differ, the CDI file last; the folders are made if they do
 * not exist. enum cdi_spec_written, or < 0. */
int cdi_spec_write(const struct cdi_place *place, const struct prepared_claim *claim,
		   struct err *err);

/* Remove the files of the claim with this UID, the CDI file first. It is no error if there are
 * none. */
int cdi_spec_remove(const struct cdi_place *place, const char *uid, struct err *err);

/* cdi_spec: the files of a prepared claim. */
#include "agent/dra/cdi_spec.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/str.h"
#include "unit/dra/made_claim.h"
#include "unit/folder.h"

#define UID "1-a"

struct scene {
	struct folder folder;
	char *cdi_dir, *metadata_dir;
	struct cdi_place place;
	struct prepared_claim *claim;
};

static void scene_init(struct scene *scene)
{
	struct prepared_request *request;

	folder_init(&scene->folder);
	scene->cdi_dir = folder_path(&scene->folder, "run/cdi");
	scene->metadata_dir = folder_path(&scene->folder, "plugins/metadata");
	scene->place = (struct cdi_place){ scene->cdi_dir, scene->metadata_dir };
	scene->claim = made_claim(UID, "nic", NULL);
	made_claim_device(scene->claim, "a/b", "0000:3b:00.0", "14");
	made_claim_device(scene->claim, "c", "0000:5e:00.0", "15");
	request = made_claim_request(scene->claim, "a");
	made_claim_node(request, "/dev/vfio/vfio", "/dev/vfio/vfio");
	made_claim_node(request, "/dev/vfio/14", "/host/vfio/14");
	*array_add(&request->mounts) =
		(struct prepared_mount){ .path = xstrdup("/in"), .host_path = xstrdup("/out") };
	(void)made_claim_request(scene->claim, "c");
	json_pairs_set(&scene->claim->envs, "PCI_RESOURCE_X", "0000:3b:00.0,0000:5e:00.0");
}

static void scene_done(struct scene *scene)
{
	prepared_claim_free(scene->claim);
	folder_done(&scene->folder);
	free(scene->cdi_dir);
	free(scene->metadata_dir);
}

SUITE_FIXTURE(scene, struct scene, scene_init, scene_done);

/* The text of @file, its folder's path as "DIR". The caller frees. */
static char *text_of(const struct scene *scene, const char *file)
{
	auto_free char *path = folder_path(&scene->folder, file);
	auto_free char *text = NULL;
	auto_str struct str out = STR_INIT;
	const char *at;
	const char *next;

	assert_int_equal(file_read(AT_FDCWD, path, 1 << 16, &text, NULL, NULL), 0);
	for (at = text; (next = strstr(at, scene->folder.path));
	     at = next + strlen(scene->folder.path)) {
		str_add_mem(&out, at, (size_t)(next - at));
		str_add(&out, "DIR");
	}
	str_add(&out, at);
	return str_detach(&out);
}

static mode_t mode_of(const struct scene *scene, const char *file)
{
	auto_free char *path = folder_path(&scene->folder, file);
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 07777;
}

#define MOUNT(host, container)                                                               \
	"{\"hostPath\":\"DIR/plugins/metadata/1-a/" host "\",\"containerPath\":\"" container \
	"\",\"options\":[\"ro\",\"bind\"]}"
#define NEW  "/var/run/kubernetes.io/dra-device-attributes/"
#define OLD  "/var/run/dra-device-attributes/"
#define META "/hostdev.io-metadata.json"

static const char spec_text[] =
	"{\"cdiVersion\":\"0.5.0\",\"kind\":\"hostdev.io/device\",\"devices\":["
	"{\"name\":\"1-a-a\",\"containerEdits\":{\"deviceNodes\":["
	"{\"path\":\"/dev/vfio/vfio\",\"permissions\":\"rwm\"},"
	"{\"path\":\"/dev/vfio/14\",\"hostPath\":\"/host/vfio/14\",\"permissions\":\"rwm\"}],"
	"\"mounts\":[{\"hostPath\":\"/out\",\"containerPath\":\"/in\",\"options\":[\"rw\",\"bind\"]}," MOUNT("a.json", NEW "resourceclaims/nic/a" META) "," MOUNT(
		"a.v1alpha1.json", OLD
		"nic/a" META) "]}},"
			      "{\"name\":\"1-a-c\",\"containerEdits\":{\"deviceNodes\":[],\"mounts\":[" MOUNT(
				      "c.json", NEW
				      "resourceclaims/nic/c" META) "," MOUNT("c.v1alpha1.json", OLD
									     "nic/c" META) "]}}],"
											   "\"containerEdits\":{\"env\":[\"PCI_RESOURCE_X=0000:3b:00.0,0000:5e:00.0\"]}}";

/* Neither type nor owner of a node: the runtime reads the one, and takes the user of the container
 * for the other. */
static void spec_has_nodes_mounts_and_variables(void **state)
{
	struct scene *scene = *state;
	auto_free char *text = NULL;
	auto_free char *id = cdi_spec_id(scene->claim, &scene->claim->requests.items[1]);

	assert_string_equal(id, "hostdev.io/device=1-a-c");
	assert_int_equal(cdi_spec_write(&scene->place, scene->claim, NULL), CDI_SPEC_WRITTEN);
	text = text_of(scene, "run/cdi/hostdev.io-device_1-a.json");
	assert_string_equal(text, spec_text);
	assert_int_equal(mode_of(scene, "run/cdi/hostdev.io-device_1-a.json"), 0644);
	assert_int_equal(mode_of(scene, "run/cdi"), 0755);
}

#define OBJECT(version, name, id)                                                                     \
	"{\"apiVersion\":\"metadata.resource.k8s.io/" version "\",\"kind\":\"DeviceMetadata\","       \
	"\"metadata\":{\"name\":\"nic\",\"namespace\":\"default\",\"uid\":\"1-a\",\"generation\":1}," \
	"\"requests\":[{\"name\":\"" name "\",\"devices\":[{\"driver\":\"hostdev.io\","               \
	"\"pool\":\"node1\",\"name\":\"pci-" id "\",\"attributes\":{"                                 \
	"\"resource.kubernetes.io/pciBusID\":{\"string\":\"" id "\"}}}]}]}"

static void metadata_is_a_stream_and_one_object(void **state)
{
	struct scene *scene = *state;
	auto_free char *stream = NULL;
	auto_free char *one = NULL;

	assert_int_equal(cdi_spec_write(&scene->place, scene->claim, NULL), CDI_SPEC_WRITTEN);
	stream = text_of(scene, "plugins/metadata/1-a/a.json");
	one = text_of(scene, "plugins/metadata/1-a/c.v1alpha1.json");
	assert_string_equal(stream, OBJECT("v1beta1", "a/b", "0000:3b:00.0") "\n" OBJECT(
					    "v1alpha1", "a/b", "0000:3b:00.0"));
	assert_string_equal(one, OBJECT("v1alpha1", "c", "0000:5e:00.0"));
	assert_int_equal(mode_of(scene, "plugins/metadata/1-a/a.json"), 0644);
}

/* Its directory is that of the pod's claim in the newer place, and in the older one the claim's
 * own, where the reader looks for the name in the file. */
static void claim_of_a_template(void **state)
{
	struct scene *scene = *state;
	auto_free char *spec = NULL;
	auto_free char *one = NULL;

	scene->claim->pod_claim = xstrdup("card");
	assert_int_equal(cdi_spec_write(&scene->place, scene->claim, NULL), CDI_SPEC_WRITTEN);
	spec = text_of(scene, "run/cdi/hostdev.io-device_1-a.json");
	one = text_of(scene, "plugins/metadata/1-a/c.v1alpha1.json");
	assert_non_null(strstr(spec, "\"" NEW "resourceclaimtemplates/card/a" META "\""));
	assert_non_null(strstr(spec, "\"" OLD "nic/a" META "\""));
	assert_non_null(strstr(one, "\"podClaimName\":\"card\""));
}

static void without_variables(void **state)
{
	struct scene *scene = *state;
	auto_free char *text = NULL;

	json_pairs_done(&scene->claim->envs);
	text = cdi_spec_text(&scene->place, scene->claim);
	assert_null(strstr(text, "env"));
}

/* Of each file in turn: it is removed, and somebody has changed it. */
static void only_what_is_missing_or_differs_is_written(void **state)
{
	static const char *const files[] = { "run/cdi/hostdev.io-device_1-a.json",
					     "plugins/metadata/1-a/a.json",
					     "plugins/metadata/1-a/c.v1alpha1.json" };
	struct scene *scene = *state;

	assert_int_equal(cdi_spec_write(&scene->place, scene->claim, NULL), CDI_SPEC_WRITTEN);
	assert_int_equal(cdi_spec_write(&scene->place, scene->claim, NULL), CDI_SPEC_SAME);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		auto_free char *path = folder_path(&scene->folder, files[i]);
		auto_free char *before = text_of(scene, files[i]);
		auto_free char *after = NULL;

		assert_int_equal(unlink(path), 0);
		assert_int_equal(cdi_spec_write(&scene->place, scene->claim, NULL),
				 CDI_SPEC_WRITTEN);
		folder_put(&scene->folder, files[i], "{}");
		assert_int_equal(cdi_spec_write(&scene->place, scene->claim, NULL),
				 CDI_SPEC_WRITTEN);
		after = text_of(scene, files[i]);
		assert_string_equal(after, before);
		assert_int_equal(cdi_spec_write(&scene->place, scene->claim, NULL), CDI_SPEC_SAME);
	}
}

/* A runtime must never read half of a file: the one that a crash left has another ending. */
static void leftovers_of_a_crash_are_replaced_and_removed(void **state)
{
	struct scene *scene = *state;
	auto_free char *part =
		folder_path(&scene->folder, "run/cdi/hostdev.io-device_1-a.json.new");

	assert_int_equal(cdi_spec_write(&scene->place, scene->claim, NULL), CDI_SPEC_WRITTEN);
	folder_put(&scene->folder, "run/cdi/hostdev.io-device_1-a.json.new", "{\"cdi");
	assert_int_equal(cdi_spec_remove(&scene->place, UID, NULL), 0);
	assert_int_equal(access(part, F_OK), -1);
}

static void removal_leaves_nothing(void **state)
{
	static const char *const paths[] = { "run/cdi/hostdev.io-device_1-a.json",
					     "plugins/metadata/1-a" };
	struct scene *scene = *state;

	assert_int_equal(cdi_spec_remove(&scene->place, UID, NULL), 0);
	assert_int_equal(cdi_spec_write(&scene->place, scene->claim, NULL), CDI_SPEC_WRITTEN);
	folder_put(&scene->folder, "run/cdi/other.json", "{}");
	assert_int_equal(cdi_spec_remove(&scene->place, UID, NULL), 0);
	assert_int_equal(cdi_spec_remove(&scene->place, UID, NULL), 0);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		auto_free char *path = folder_path(&scene->folder, paths[i]);

		assert_int_equal(access(path, F_OK), -1);
	}
	free(text_of(scene, "run/cdi/other.json"));
}

static void folder_cannot_be_made(void **state)
{
	struct scene *scene = *state;
	struct err err = { 0 };

	folder_put(&scene->folder, "run", "");
	assert_int_equal(cdi_spec_write(&scene->place, scene->claim, &err), -ENOTDIR);
	assert_non_null(strstr(err.msg, "CDI file in '"));
	assert_int_equal(cdi_spec_remove(&scene->place, UID, NULL), 0);
	folder_put(&scene->folder, "plugins/metadata/1-a", "");
	assert_int_equal(cdi_spec_write(&scene->place, scene->claim, &err), -ENOTDIR);
	assert_non_null(strstr(err.msg, "metadata in '"));
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_fixture(&suite, &scene_fixture);
	suite_add(&suite, "a CDI file has nodes, mounts and variables",
		  spec_has_nodes_mounts_and_variables, NULL);
	suite_add(&suite, "metadata is a stream, and one object for KubeVirt 1.8",
		  metadata_is_a_stream_and_one_object, NULL);
	suite_add(&suite, "a claim of a template is known by the pod's name for it",
		  claim_of_a_template, NULL);
	suite_add(&suite, "without variables there are none", without_variables, NULL);
	suite_add(&suite, "only what is missing or differs is written",
		  only_what_is_missing_or_differs_is_written, NULL);
	suite_add(&suite, "what a crash left is removed",
		  leftovers_of_a_crash_are_replaced_and_removed, NULL);
	suite_add(&suite, "a removal leaves nothing of the claim, and all of others",
		  removal_leaves_nothing, NULL);
	suite_add(&suite, "without a folder the error names it", folder_cannot_be_made, NULL);
	return suite_run(&suite, "cdi_spec");
}

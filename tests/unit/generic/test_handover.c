/* handover: one descriptor for the first peer that connects; and sockets without a peer. */
#include "agent/generic/handover.h"

#include <errno.h>

#include "agent/generic/iommufd_type.h"
#include "agent/generic/pre_open.h"
#include "base/err.h"
#include "fake/fake_clock.h"
#include "unit/generic/asked.h"
#include "unit/generic/sockets.h"
#include "unit/plugin/stage.h"
#include "unit/this_node.h"

struct scene {
	struct stage stage;
	char *dir;
	char *secret; /* the file that is handed over */
	int broken;   /* != 0: it cannot be opened */
	size_t opened;
	struct this_node node;
	struct handovers *all;
};

static int open_secret(void *arg, int *ret_fd, struct err *err)
{
	struct scene *scene = arg;
	int fd;

	if (scene->broken)
		return err_set(err, ERR_RETRY, -scene->broken, "it is broken");
	fd = open(scene->secret, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	scene->opened++;
	*ret_fd = fd;
	return 0;
}

static void begin(struct scene *scene)
{
	scene->all = handovers_new(&scene->node, scene->dir, NULL, open_secret, scene);
}

static void scene_open(struct scene *scene)
{
	*scene = (struct scene){ 0 };
	stage_init(&scene->stage);
	scene->node = this_node_of(NULL, scene->stage.clock, NULL);
	scene->node.loop = &scene->stage.loop;
	scene->dir = folder_path(&scene->stage.folder, "plugins/hostdev/fd");
	scene->secret = folder_path(&scene->stage.folder, "secret");
	folder_put(&scene->stage.folder, "secret", "handed over");
	begin(scene);
}

static void settle(struct scene *scene)
{
	stage_settle(&scene->stage, "");
}

/* Nothing is left: no handle, no timer, no descriptor, no socket. */
static void scene_close(struct scene *scene)
{
	handovers_free(scene->all);
	settle(scene);
	stage_done(&scene->stage);
	free(scene->dir);
	free(scene->secret);
}

SUITE_FIXTURE(scene, struct scene, scene_open, scene_close);

static char *add(struct scene *scene)
{
	struct err err = { 0 };
	char *path = NULL;

	if (handovers_add(scene->all, &path, &err) < 0)
		fail_msg("%s", err.msg);
	return path;
}

/* -1: there is no listener. */
static int call(struct scene *scene, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	memcpy(address.sun_path, path, strlen(path));
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		close(fd);
		return -1;
	}
	settle(scene);
	return fd;
}

/* The descriptor that came with one byte; -1: none. */
static int take(int peer)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	char data[8];
	struct iovec iov = { .iov_base = data, .iov_len = sizeof(data) };
	struct msghdr message = { .msg_iov = &iov,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	const struct cmsghdr *header;
	int fd = -1;

	if (recvmsg(peer, &message, MSG_CMSG_CLOEXEC) != 1)
		return -1;
	header = CMSG_FIRSTHDR(&message);
	assert_non_null(header);
	assert_int_equal(header->cmsg_type, SCM_RIGHTS);
	memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

static void assert_secret(int fd)
{
	char text[32] = "";

	assert_int_equal(read(fd, text, sizeof(text) - 1), strlen("handed over"));
	assert_string_equal(text, "handed over");
}

static void one_takes_over_and_says_so(void **state)
{
	struct scene *scene = *state;
	auto_free char *path = NULL;
	auto_close int peer = -1;
	auto_close int fd = -1;
	struct stat st;

	path = add(scene);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0666);
	peer = call(scene, path);
	fd = take(peer);
	assert_secret(fd);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(write(peer, "k", 1), 1);
	settle(scene);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(handovers_len(scene->all), 0);
}

/* A launcher that dies before it has confirmed is started again. */
static void who_went_without_a_word_may_come_again(void **state)
{
	struct scene *scene = *state;
	auto_free char *path = NULL;
	auto_close int again = -1;
	auto_close int fd = -1;
	int peer;

	path = add(scene);
	peer = call(scene, path);
	fd = take(peer);
	close(peer);
	settle(scene);
	close(take_fd(fd));
	again = call(scene, path);
	fd = take(again);
	assert_secret(fd);
	assert_int_equal(write(again, "k", 1), 1);
	settle(scene);
	assert_int_equal(handovers_len(scene->all), 0);
}

static void who_keeps_silent_is_left(void **state)
{
	struct scene *scene = *state;
	auto_free char *path = NULL;
	auto_close int silent = -1;
	auto_close int second = -1;
	auto_close int third = -1;
	auto_close int fd = -1;

	path = add(scene);
	silent = call(scene, path);
	second = call(scene, path);
	assert_true(silent >= 0);
	assert_int_equal(take(second), -1); /* one after the other */
	fake_clock_advance(scene->stage.fake, HANDOVER_ACK_MS);
	settle(scene);
	third = call(scene, path);
	fd = take(third);
	assert_secret(fd);
}

static void nobody_comes_in_time(void **state)
{
	struct scene *scene = *state;
	auto_free char *path = NULL;
	size_t fds;

	fds = stage_count_fds();
	path = add(scene);
	fake_clock_advance(scene->stage.fake, HANDOVER_MS - 1);
	settle(scene);
	assert_int_equal(access(path, F_OK), 0);
	fake_clock_advance(scene->stage.fake, 1);
	settle(scene);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(handovers_len(scene->all), 0);
	assert_int_equal(stage_count_fds(), fds);
}

static void they_are_bounded(void **state)
{
	struct scene *scene = *state;
	struct err err = { 0 };
	char *path = NULL;

	for (uint64_t i = 0; i < HANDOVERS_MAX; i++) {
		fake_clock_fix_random(scene->stage.fake, i);
		free(add(scene));
	}
	assert_int_equal(handovers_add(scene->all, &path, &err), -EAGAIN);
	assert_string_equal(err.msg, "256 containers have not fetched their descriptor yet");
	fake_clock_advance(scene->stage.fake, HANDOVER_MS);
	settle(scene);
	free(add(scene));
}

/* The pod that would wait for it is refused. */
static void what_cannot_be_opened_is_not_promised(void **state)
{
	struct scene *scene = *state;
	auto_free char *path = NULL;
	struct err err = { 0 };
	auto_close int peer = -1;
	char *none = NULL;

	scene->broken = ENODEV;
	assert_int_equal(handovers_add(scene->all, &none, &err), -ENODEV);
	assert_int_equal(handovers_len(scene->all), 0);
	scene->broken = 0;
	path = add(scene);
	scene->broken = ENODEV; /* gone meanwhile: a peer is refused, and may connect again */
	log_set_level(LOG_ERROR);
	peer = call(scene, path);
	assert_int_equal(take(peer), -1);
	assert_int_equal(handovers_len(scene->all), 1);
}

static void end(struct scene *scene)
{
	handovers_free(scene->all);
	settle(scene);
}

/* Its pod's container is yet to be started. */
static void one_that_waits_outlives_a_restart(void **state)
{
	struct scene *scene = *state;
	auto_free char *path = NULL;
	auto_close int peer = -1;
	auto_close int fd = -1;

	path = add(scene);
	end(scene);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(call(scene, path), -1);
	begin(scene);
	assert_int_equal(handovers_len(scene->all), 1);
	peer = call(scene, path);
	fd = take(peer);
	assert_secret(fd);
	assert_int_equal(write(peer, "k", 1), 1);
	settle(scene);
	assert_int_equal(access(path, F_OK), -1);
}

static void restarts_do_not_lengthen_its_time(void **state)
{
	struct scene *scene = *state;
	auto_free char *path = NULL;

	path = add(scene);
	for (int i = 0; i < 2; i++) {
		fake_clock_advance(scene->stage.fake, HANDOVER_MS / 2 - 1);
		end(scene);
		begin(scene);
		assert_int_equal(handovers_len(scene->all), 1);
	}
	fake_clock_advance(scene->stage.fake, 2);
	settle(scene);
	assert_int_equal(handovers_len(scene->all), 0);
	assert_int_equal(access(path, F_OK), -1);
	free(path);
	path = add(scene);
	end(scene);
	fake_clock_advance(scene->stage.fake, HANDOVER_MS); /* while no agent runs */
	begin(scene);
	assert_int_equal(handovers_len(scene->all), 0);
	assert_int_equal(access(path, F_OK), -1);
}

static void an_old_process_does_not_remove_what_the_new_one_made(void **state)
{
	struct scene *scene = *state;
	auto_free char *path = NULL;
	auto_close int first = -1;
	auto_close int fd = -1;
	struct handovers *old;

	path = add(scene);
	first = call(scene, path);
	fd = take(first);
	assert_secret(fd);
	old = scene->all;
	begin(scene); /* both live */
	assert_int_equal(write(first, "k", 1), 1);
	settle(scene);
	assert_int_equal(handovers_len(old), 0);
	assert_int_equal(handovers_len(scene->all), 1);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(close(call(scene, path)), 0);
	handovers_free(old);
}

static void what_is_no_socket_of_ours_stays(void **state)
{
	struct scene *scene = *state;

	free(add(scene));
	end(scene);
	folder_put(&scene->stage.folder, "plugins/hostdev/fd/note", "");
	folder_put(&scene->stage.folder, "plugins/hostdev/fd/file.sock", "");
	begin(scene);
	assert_int_equal(handovers_len(scene->all), 1);
	drop(&scene->stage.folder, "plugins/hostdev/fd/note");
	drop(&scene->stage.folder, "plugins/hostdev/fd/file.sock");
}

/* --- the device type -------------------------------------------------------------------------- */

#define MISSING \
	"/dev/iommu is not there: load the module iommufd, if the kernel has it (CONFIG_IOMMUFD)"

/* In place of pre_open's. */
static struct {
	const char *trouble;
	bool untried;
} opening;

const char *pre_open_trouble(struct pre_open *opens, const char *path)
{
	(void)opens;
	assert_string_equal(path, "/dev/iommu");
	return opening.trouble;
}

bool pre_open_untried(const struct pre_open *opens, const char *path)
{
	(void)opens;
	assert_string_equal(path, "/dev/iommu");
	return opening.untried;
}

static void offer(struct iommufd_type *type, struct asked_plugins *plugins, const char *offers,
		  const char *wanted)
{
	struct config_troubles troubles = { 0 };
	auto_str struct str said = STR_INIT;

	iommufd_type_offer(type, asked_as_plugins(plugins), &troubles);
	for (size_t i = 0; i < troubles.len; i++)
		str_addf(&said, "%s %s: %s", troubles.items[i].list, troubles.items[i].reason,
			 troubles.items[i].message);
	assert_string_equal(str_cstr(&said), wanted);
	config_troubles_done(&troubles);
	assert_string_equal(str_cstr(&plugins->offered), offers);
}

/* Only the nodes that do not have it report it. */
static void a_node_without_iommufd_is_told(void **state)
{
#define IS "devices.kubevirt.io/iommufd !"
	struct asked_plugins plugins = { 0 };
	struct config *on = asked_config("'iommufd':{'enabled':true,'count':1}");
	struct iommufd_type *type;
	struct scene scene;

	scene_open(&scene);
	type = iommufd_type_new(scene.stage.folder.path, NULL, scene.all);
	iommufd_type_set(type, on);
	offer(type, &plugins, IS MISSING " iommufd0|", "iommufd NodeMissing: " MISSING);
	folder_put(&scene.stage.folder, "iommu", "");
	opening.trouble = "it is being opened";
	opening.untried = true;
	offer(type, &plugins, IS "it is being opened iommufd0|", "");
	opening.trouble = "it cannot be opened";
	opening.untried = false;
	offer(type, &plugins, IS "it cannot be opened iommufd0|",
	      "iommufd NodeUnusable: it cannot be opened");
	opening.trouble = NULL;
	offer(type, &plugins, "devices.kubevirt.io/iommufd iommufd0|", "");
	iommufd_type_free(type);
	config_free(on);
	str_done(&plugins.offered);
	scene_close(&scene);
#undef IS
}

/* KubeVirt's row: the node "mrw", and one socket for a container, whatever it asks for. */
static void iommufd_is_offered_and_given(void **state)
{
	auto_free char *gives = NULL;
	struct asked_plugins plugins = { 0 };
	struct config *on = asked_config("'iommufd':{'enabled':true,'count':2}");
	struct config *off = asked_config("");
	struct iommufd_type *type;
	struct scene *scene = *state;

	type = iommufd_type_new(scene->stage.folder.path, NULL, scene->all);
	iommufd_type_set(type, on);
	offer(type, &plugins, "devices.kubevirt.io/iommufd !" MISSING " iommufd0 iommufd1|",
	      "iommufd NodeMissing: " MISSING);
	folder_put(&scene->stage.folder, "iommu", "");
	offer(type, &plugins, "devices.kubevirt.io/iommufd iommufd0 iommufd1|", "");
	gives = asked_allocate(&iommufd_device_type, type, "devices.kubevirt.io/iommufd",
			       "iommufd0 iommufd1");
	assert_int_equal(handovers_len(scene->all), 1);
	assert_non_null(strstr(gives, "/dev/iommu>/dev/iommu:mrw "));
	assert_non_null(strstr(gives, ".sock>/var/run/kubevirt/iommufd.sock"));
	iommufd_type_set(type, off);
	offer(type, &plugins, "", "");
	iommufd_type_free(type);
	config_free(on);
	config_free(off);
	str_done(&plugins.offered);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "a node without IOMMUFD is told", a_node_without_iommufd_is_told, NULL);
	suite_fixture(&suite, &scene_fixture);
	suite_add(&suite, "one takes over, and says so", one_takes_over_and_says_so, NULL);
	suite_add(&suite, "who went without a word may come again",
		  who_went_without_a_word_may_come_again, NULL);
	suite_add(&suite, "who keeps silent is left", who_keeps_silent_is_left, NULL);
	suite_add(&suite, "nobody comes in time", nobody_comes_in_time, NULL);
	suite_add(&suite, "they are bounded", they_are_bounded, NULL);
	suite_add(&suite, "what cannot be opened is not promised",
		  what_cannot_be_opened_is_not_promised, NULL);
	suite_add(&suite, "one that waits outlives a restart", one_that_waits_outlives_a_restart,
		  NULL);
	suite_add(&suite, "restarts do not lengthen its time", restarts_do_not_lengthen_its_time,
		  NULL);
	suite_add(&suite, "an old process does not remove what the new one made",
		  an_old_process_does_not_remove_what_the_new_one_made, NULL);
	suite_add(&suite, "what is no socket of ours stays", what_is_no_socket_of_ours_stays, NULL);
	suite_add(
		&suite,
		"kubevirt-contract 1.2 (iommufd): /dev/iommu \"mrw\" and one socket, whatever it asks for",
		iommufd_is_offered_and_given, NULL);
	return suite_run(&suite, "handover");
}

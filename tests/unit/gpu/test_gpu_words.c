/* gpu_task: the command lines of acts. */
#include "agent/gpu/gpu_task.h"

#include "api/json_values.h"
#include "base/str.h"
#include "unit/suite.h"

#define PF "0000:08:00.0"
#define VF "0000:08:00.4"

/* clang-format off */
static struct words_case {
	const char *name;
	struct gpu_act act;
	const char *words; /* the program first */
	bool no_manage;
} cases[] = {
	{ "virtual functions are made by the vendor's command", { .verb = GPU_ENABLE_VFS, .address = PF },
	  .words = "/sm -e " PF },
	{ "and removed by it", { .verb = GPU_DISABLE_VFS, .address = PF }, .words = "/sm -d " PF },
	{ "without one the kernel is asked", { .verb = GPU_ENABLE_VFS, .address = PF, .id = "10de:25b6", .count = 16 },
	  .words = "helper vfs address=" PF " id=10de:25b6 count=16", .no_manage = true },
	{ "and to remove them", { .verb = GPU_DISABLE_VFS, .address = PF, .id = "10de:25b6" },
	  .words = "helper vfs address=" PF " id=10de:25b6 count=0", .no_manage = true },
	{ "a type", { .verb = GPU_SET_TYPE, .address = VF, .type = "1146" },
	  .words = "helper vgpu-set address=" VF " type=1146" },
	{ "a mediated device", { .verb = GPU_MAKE_MDEV, .address = VF, .type = "nvidia-746", .uuid = "u1" },
	  .words = "helper mdev-create parent=" VF " type=nvidia-746 owner=vgpu uuid=u1" },
	{ "its removal", { .verb = GPU_REMOVE_MDEV, .address = VF, .uuid = "u1" },
	  .words = "helper mdev-remove parent=" VF " owner=vgpu uuid=u1" },
	{ "MIG mode", { .verb = GPU_MIG_MODE_ON, .address = PF }, .words = "/smi -i " PF " -mig 1" },
	{ "an instance, with what fills it", { .verb = GPU_MIG_CREATE, .address = PF, .profile = 9 },
	  .words = "/smi mig -i " PF " -cgi 9 -C" },
	{ "the removal of what fills one", { .verb = GPU_MIG_REMOVE_COMPUTE, .address = PF, .instance = 2, .compute = 1 },
	  .words = "/smi mig -i " PF " -dci -gi 2 -ci 1" },
	{ "the removal of one", { .verb = GPU_MIG_REMOVE, .address = PF, .instance = 2 },
	  .words = "/smi mig -i " PF " -dgi -gi 2" },
};
/* clang-format on */

static void release_words(struct gpu_command *command)
{
	json_strs_done(&command->words);
}

SUITE_CLOSING(gpu_command, struct gpu_command, release_words);

static void words_are(void **state)
{
	const struct words_case *c = suite_row(state);
	struct gpu_options options = {
		.sriov_manage = c->no_manage ? "" : "/sm",
		.nvidia_smi = "/smi",
	};
	struct gpu_command *command = *state;
	auto_str struct str got = STR_INIT;

	gpu_command_make(&options, &c->act, command);
	if (command->tool)
		str_add(&got, command->tool);
	else
		str_addf(&got, "helper %s", command->verb);
	for (size_t i = 0; i < command->words.len; i++)
		str_addf(&got, " %s", command->words.items[i]);
	assert_string_equal(str_cstr(&got), c->words);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &gpu_command_fixture);
	suite_rows(&suite, cases, words_are);
	return suite_run(&suite, "gpu_words");
}

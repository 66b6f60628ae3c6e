#include "agent/gpu/gpu_cards.h"

#include "unit/gpu/gpu_scene.h"

#define FUNCTION(vendor, class_code, role, rest)                                     \
	"{'kind':'pci','address':'" PF "','vendor':'" vendor                         \
	"','device':'25b6','class':'" class_code "','driver':'nvidia','role':'" role \
	"','totalVFs':16" rest "}"
#define VF_DEVICE ",'vfDevice':'25b6'"

/* "address: backend type (name) [name=id ...]; ..." of all functions, cards between. */
static char *text_of(const struct gpu_cards *cards)
{
	static const char *const backends[] = {
		[GPU_NO_BACKEND] = "none", [GPU_ATTRIBUTES] = "attributes", [GPU_MDEV] = "mdev"
	};
	struct str out = STR_INIT;

	for (size_t i = 0; i < cards->len; i++) {
		const struct gpu_card *card = &cards->items[i];

		str_addf(&out, "%s", card->pci->address);
		for (size_t j = 0; j < card->len; j++) {
			const struct gpu_function *f = &card->items[j];

			str_addf(&out, "; %s: %s %s (%s)", f->pci->address, backends[f->backend],
				 f->type ? f->type : "-", f->type_name ? f->type_name : "-");
			for (size_t k = 0; k < f->types.len; k++)
				str_addf(&out, " %s=%s", f->types.items[k].key,
					 f->types.items[k].value);
			if (f->mdev)
				str_addf(&out, " %s %s", f->own ? "ours" : "theirs", f->resource);
		}
	}
	(void)str_cstr(&out);
	return str_detach(&out);
}

/* clang-format off */
static struct cards_case {
	const char *name;
	const char *lines[8];
	const char *cards;
} cases[] = {
	{ "a card without virtual functions", { FUNCTION("10de", "030200", "PhysicalFunction", VF_DEVICE) }, PF },
	{ "one of the VGA class is a card, too", { FUNCTION("10de", "030000", "PhysicalFunction", VF_DEVICE) }, PF },
	{ "one whose virtual functions have no device id is none", { FUNCTION("10de", "030200", "PhysicalFunction", "") }, "" },
	{ "one without SR-IOV is none", { FUNCTION("10de", "030200", "Function", VF_DEVICE) }, "" },
	{ "another vendor's is none", { FUNCTION("8086", "030000", "PhysicalFunction", VF_DEVICE) }, "" },
	{ "NVIDIA's network card is none", { FUNCTION("10de", "020000", "PhysicalFunction", VF_DEVICE) }, "" },
	{ "functions with attributes", { A_VGPU },
	  PF "; " VF1 ": attributes 1146 (NVIDIA A2-4C); "
	  VF2 ": attributes - (-) NVIDIA A2-2B=1145 NVIDIA A2-4C=1146" },
	{ "one without its table of types hurts no other (harvester-api 2.1: it ended the whole look)",
	  { CARD, FUNCTIONS, "{'kind':'vgpu','address':'" VF1 "','current':'0'}", VGPU(VF2, "0", A2_TYPES) },
	  PF "; " VF1 ": attributes - (-); " VF2 ": attributes - (-) NVIDIA A2-2B=1145 NVIDIA A2-4C=1146" },
	{ "a function of which nothing was seen has no backend", { CARD, FUNCTIONS }, PF "; " VF1 ": none - (-); " VF2 ": none - (-)" },
	{ "mediated devices: what can be made", { CARD, FUNCTIONS, MDEV_PARENT(VF1, "1"), MDEV_PARENT(VF2, "0") },
	  PF "; " VF1 ": mdev - (-) NVIDIA A2-4C=nvidia-746; " VF2 ": mdev - (-)" },
	{ "mediated devices: what is there, by somebody else", { CARD, FUNCTIONS, MDEV_PARENT(VF1, "0"), MDEV },
	  PF "; " VF1 ": mdev nvidia-746 (NVIDIA A2-4C) theirs nvidia.com/NVIDIA_A2-4C; " VF2 ": none - (-)" },
	{ "mediated devices: what is there, by us", { CARD, FUNCTIONS, MDEV_PARENT(VF1, "0"), MDEV, MDEV_RECORD },
	  PF "; " VF1 ": mdev nvidia-746 (NVIDIA A2-4C) ours nvidia.com/NVIDIA_A2-4C; " VF2 ": none - (-)" },
	{ "a function that has just gone is left out", { CARD, VF_LINE(VF2) }, PF "; " VF2 ": none - (-)" },
};
/* clang-format on */

static void cards_are(void **state)
{
	const struct cards_case *c = suite_row(state);
	struct gpu_scene *scene = *state;
	auto_free char *text = NULL;

	gpu_scene_init(scene, c->lines);
	text = text_of(&scene->cards);
	assert_string_equal(text, c->cards);
}

static void functions_are_found(void **state)
{
	static const char *const lines[] = { CARD, FUNCTIONS, MDEV_PARENT(VF1, "0"), MDEV, NULL };
	const struct gpu_card *card = NULL;
	struct gpu_scene *scene = *state;

	gpu_scene_init(scene, lines);
	assert_string_equal(gpu_cards_function(&scene->cards, VF2, &card)->pci->address, VF2);
	assert_ptr_equal(card, gpu_cards_find(&scene->cards, PF));
	assert_null(gpu_cards_function(&scene->cards, PF, NULL));
	assert_null(gpu_cards_find(&scene->cards, VF1));
	assert_string_equal(gpu_cards_mdev(&scene->cards, MDEV_UUID)->pci->address, VF1);
	assert_null(gpu_cards_mdev(&scene->cards, "none"));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &gpu_scene_fixture);
	suite_rows(&suite, cases, cards_are);
	suite_add(&suite, "functions are found by address and by mediated device",
		  functions_are_found, NULL);
	return suite_run(&suite, "gpu_cards");
}

#include "agent/gpu/gpu_cards.h"

#include <string.h>

#include "agent/gpu/vgpu_plan.h"
#include "agent/inventory/facts.h"
#include "agent/inventory/mdev_names.h"
#include "agent/inventory/vendor_vfio.h"
#include "base/array.h"
#include "base/mem.h"
#include "base/str.h"

/* --- types ------------------------------------------------------------------------------------ */

/* A part of a line. */
struct part {
	const char *text;
	size_t len;
};

static struct part trim(const char *text, size_t len)
{
	while (len > 0 && (*text == ' ' || *text == '\t')) {
		text++;
		len--;
	}
	while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t' || text[len - 1] == '\r'))
		len--;
	return (struct part){ text, len };
}

static bool is_type_id(const char *text, size_t len)
{
	if (len == 0 || len > VGPU_TYPE_ID_MAX || text[0] == '0')
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
	}
	return true;
}

bool vgpu_type_valid(const char *id)
{
	return id && is_type_id(id, strlen(id));
}

/* The header's first column is no number, so it is passed over like everything else. */
static void take_type_line(const char *line, size_t len, struct json_pairs *types)
{
	const char *colon = memchr(line, ':', len);
	auto_str struct str name = STR_INIT;
	auto_free char *id_text = NULL;
	struct part id;
	struct part rest;

	if (!colon)
		return;
	id = trim(line, (size_t)(colon - line));
	rest = trim(colon + 1, len - (size_t)(colon + 1 - line));
	if (!is_type_id(id.text, id.len) || rest.len == 0 || rest.len > VGPU_TYPE_NAME_MAX)
		return;
	str_add_clean(&name, rest.text, rest.len);
	if (name.len > VGPU_TYPE_NAME_MAX || json_pairs_get(types, str_cstr(&name)))
		return;
	id_text = xstrndup(id.text, id.len);
	json_pairs_set(types, str_cstr(&name), id_text);
}

void vgpu_types_parse(const struct json_strs *lines, struct json_pairs *ret_types)
{
	for (size_t i = 0; i < lines->len && ret_types->len < VGPU_TYPES_MAX; i++)
		take_type_line(lines->items[i], strlen(lines->items[i]), ret_types);
}

const char *vgpu_types_name(const struct json_pairs *types, const char *id)
{
	for (size_t i = 0; i < types->len; i++) {
		if (strcmp(types->items[i].value, id) == 0)
			return types->items[i].key;
	}
	return NULL;
}

/* --- cards ------------------------------------------------------------------------------------ */

/* A card that says 0 there is one whose virtual functions are no graphics cards of NVIDIA's; that
 * it can have some at all tells the physical function. */
static bool is_card(const struct pci_facts *pci)
{
	return str_match(pci->vendor, "10de") && pci->class_code &&
	       strncmp(pci->class_code, "03", 2) == 0 && str_match(pci->role, "PhysicalFunction") &&
	       pci->vf_device;
}

static const struct mdev_parent_facts *find_parent(const struct facts *facts, const char *address)
{
	for (size_t i = 0; i < facts->mdev_parents.len; i++) {
		if (strcmp(facts->mdev_parents.items[i].name, address) == 0)
			return &facts->mdev_parents.items[i];
	}
	return NULL;
}

/* Such a function is the parent of one instance at most. */
static const struct mdev_facts *find_mdev(const struct facts *facts, const char *address)
{
	for (size_t i = 0; i < facts->mdevs.len; i++) {
		if (strcmp(facts->mdevs.items[i].parent, address) == 0)
			return &facts->mdevs.items[i];
	}
	return NULL;
}

static void take_mdev(struct gpu_function *f, const struct facts *facts,
		      const struct mdev_parent_facts *parent)
{
	const struct mdev_facts *mdev = find_mdev(facts, f->pci->address);

	f->backend = GPU_MDEV;
	for (size_t i = 0; i < parent->types.len && f->types.len < VGPU_TYPES_MAX; i++) {
		const struct mdev_type_facts *type = &parent->types.items[i];
		const char *name = type->name ? type->name : type->id;

		if (type->available > 0 && !json_pairs_get(&f->types, name))
			json_pairs_set(&f->types, name, type->id);
	}
	if (!mdev || !mdev->type)
		return;
	f->mdev = mdev;
	f->type = mdev->type;
	f->type_name = mdev->type_name;
	f->own = str_match(mdev_owner(facts, mdev), GPU_MDEV_OWNER);
	f->resource = vgpu_resource(mdev->type_name ? mdev->type_name : mdev->type);
}

static void take_attributes(struct gpu_function *f, const struct vgpu_facts *vgpu)
{
	f->backend = GPU_ATTRIBUTES;
	vgpu_types_parse(&vgpu->creatable, &f->types);
	if (vgpu_type_valid(vgpu->current))
		f->type = vgpu->current;
}

static void look(struct gpu_function *f, const struct facts *facts)
{
	const struct mdev_parent_facts *parent = find_parent(facts, f->pci->address);
	const struct vgpu_facts *vgpu = vendor_vfio_find(facts, f->pci->address);

	if (parent)
		take_mdev(f, facts, parent);
	else if (vgpu)
		take_attributes(f, vgpu);
}

static void add_card(struct gpu_cards *cards, const struct facts *facts,
		     const struct pci_facts *pci)
{
	struct gpu_card *card = array_add(cards);

	card->pci = pci;
	for (size_t i = 0; i < pci->virtual_functions.len; i++) {
		const struct pci_facts *vf = facts_find_pci(facts, pci->virtual_functions.items[i]);
		struct gpu_function *f;

		if (!vf)
			continue;
		f = array_add(card);
		f->pci = vf;
		look(f, facts);
	}
	for (size_t i = 0; i < card->len; i++) {
		struct gpu_function *f = &card->items[i];

		if (f->type && !f->type_name)
			f->type_name = gpu_card_type_name(card, f->type);
	}
}

void gpu_cards_make(const struct facts *facts, struct gpu_cards *ret_cards)
{
	struct gpu_cards cards = { .known = facts->vgpus_known };

	for (size_t i = 0; i < facts->pci.len; i++) {
		if (is_card(&facts->pci.items[i]))
			add_card(&cards, facts, &facts->pci.items[i]);
	}
	*ret_cards = cards;
}

void gpu_cards_done(struct gpu_cards *cards)
{
	for (size_t i = 0; i < cards->len; i++) {
		struct gpu_card *card = &cards->items[i];

		for (size_t j = 0; j < card->len; j++) {
			json_pairs_done(&card->items[j].types);
			free(card->items[j].resource);
		}
		array_done(card);
	}
	array_done(cards);
}

const struct gpu_card *gpu_cards_find(const struct gpu_cards *cards, const char *address)
{
	for (size_t i = 0; i < cards->len; i++) {
		if (strcmp(cards->items[i].pci->address, address) == 0)
			return &cards->items[i];
	}
	return NULL;
}

const struct gpu_function *gpu_cards_function(const struct gpu_cards *cards, const char *address,
					      const struct gpu_card **ret_card)
{
	for (size_t i = 0; i < cards->len; i++) {
		const struct gpu_card *card = &cards->items[i];

		for (size_t j = 0; j < card->len; j++) {
			if (strcmp(card->items[j].pci->address, address) != 0)
				continue;
			if (ret_card)
				*ret_card = card;
			return &card->items[j];
		}
	}
	return NULL;
}

const struct gpu_function *gpu_cards_mdev(const struct gpu_cards *cards, const char *uuid)
{
	for (size_t i = 0; i < cards->len; i++) {
		const struct gpu_card *card = &cards->items[i];

		for (size_t j = 0; j < card->len; j++) {
			if (card->items[j].mdev && str_match(card->items[j].mdev->uuid, uuid))
				return &card->items[j];
		}
	}
	return NULL;
}

const char *gpu_card_type_name(const struct gpu_card *card, const char *id)
{
	for (size_t i = 0; i < card->len; i++) {
		const char *name = vgpu_types_name(&card->items[i].types, id);

		if (name)
			return name;
	}
	return NULL;
}

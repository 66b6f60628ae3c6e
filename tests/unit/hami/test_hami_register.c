/* hami_register: the text of HAMi's list of GPUs, by its two forms. */
#include "agent/hami/hami_register.h"

#include "base/str.h"
#include "unit/suite.h"

#define A "GPU-aaaaaaaa-0000-0000-0000-000000000000"
#define B "GPU-bbbbbbbb-0000-0000-0000-000000000000"

static const struct hami_gpu a2 = { .uuid = A,
				    .name = "NVIDIA A2",
				    .numa_node = -1,
				    .count = 10,
				    .memory_mib = 15360,
				    .cores = 100 };
static const struct hami_gpu p4 = { .uuid = B,
				    .name = "Tesla P4",
				    .index = 1,
				    .numa_node = 1,
				    .count = 3,
				    .memory_mib = 7680,
				    .cores = 150,
				    .trouble = "Xid 79" };
static const struct hami_gpu odd = { .uuid = A, .name = "a,b:c;d\"\n", .index = -1, .count = 1 };
static const struct hami_gpu nameless = { .uuid = A, .index = -1, .count = 1 };

static struct register_case {
	const char *name;
	enum hami_form form;
	const struct hami_gpu *gpus[3];
	const char *text;
} registers[] = {
	{ "no GPU is an empty list", HAMI_FORM_JSON, { NULL }, "[]" },
	{ "what is 0 is left out, and a name of NVIDIA's stays as it is",
	  HAMI_FORM_JSON,
	  { &a2 },
	  "[{\"id\":\"" A "\",\"count\":10,\"devmem\":15360,\"devcore\":100,\"type\":\"NVIDIA A2\","
	  "\"mode\":\"hami-core\",\"health\":true,\"devicevendor\":\"NVIDIA\"}]" },
	{ "a broken GPU stays in the list",
	  HAMI_FORM_JSON,
	  { &a2, &p4 },
	  "[{\"id\":\"" A "\",\"count\":10,\"devmem\":15360,\"devcore\":100,\"type\":\"NVIDIA A2\","
	  "\"mode\":\"hami-core\",\"health\":true,\"devicevendor\":\"NVIDIA\"},"
	  "{\"id\":\"" B "\",\"index\":1,\"count\":3,\"devmem\":7680,\"devcore\":150,"
	  "\"type\":\"NVIDIA-Tesla P4\",\"numa\":1,\"mode\":\"hami-core\",\"health\":false,"
	  "\"devicevendor\":\"NVIDIA\"}]" },
	{ "no GPU is no text", HAMI_FORM_TEXT, { NULL }, "" },
	{ "the text has nine fields for each, and every name gets the vendor",
	  HAMI_FORM_TEXT,
	  { &a2, &p4 },
	  A ",10,15360,100,NVIDIA-NVIDIA A2,0,true,0,hami-core:" B
	    ",3,7680,150,NVIDIA-Tesla P4,1,false,1,hami-core:" },
	{ "a name cannot end a field",
	  HAMI_FORM_TEXT,
	  { &odd },
	  A ",1,0,0,NVIDIA-a b c d\"\\x0a,0,true,0,hami-core:" },
	{ "nor in JSON",
	  HAMI_FORM_JSON,
	  { &odd },
	  "[{\"id\":\"" A
	  "\",\"count\":1,\"devmem\":0,\"devcore\":0,\"type\":\"NVIDIA-a b c d\\\"\\\\x0a\","
	  "\"mode\":\"hami-core\",\"health\":true,\"devicevendor\":\"NVIDIA\"}]" },
	{ "one without a name is a GPU",
	  HAMI_FORM_TEXT,
	  { &nameless },
	  A ",1,0,0,NVIDIA-GPU,0,true,0,hami-core:" },
};

static void register_matches_table(void **state)
{
	const struct register_case *c = *state;
	struct hami_gpu gpus[3];
	struct str out = STR_INIT;
	size_t len = 0;

	for (; len < 3 && c->gpus[len]; len++)
		gpus[len] = *c->gpus[len];
	hami_register_write(gpus, len, c->form, &out);
	assert_string_equal(str_cstr(&out), c->text);
	assert_int_equal(hami_register_form(str_cstr(&out)), *c->text ? c->form : HAMI_FORM_AUTO);
	str_done(&out);
}

static void nothing_has_no_form(void **state)
{
	assert_int_equal(hami_register_form(NULL), HAMI_FORM_AUTO);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, registers, register_matches_table);
	suite_add(&suite, "a missing annotation has no form", nothing_has_no_form, NULL);
	return suite_run(&suite, "hami_register");
}

/* uninstall: random lives of claims while somebody uninstalls. */
#include "controller/uninstall.h"

#include <string.h>

#include "api/kubevirt.h"
#include "api/names.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/cache/view.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "fake/fake_server.h"
#include "unit/kube/random_life.h"
#include "unit/suite.h"

enum { NODES = 2, CLAIMS = 3 };

#define OTHERS "x.y/z"

/* The kinds of claims. */
static const struct claim_kind {
	enum view_kind kind;
	const char *finalizer;
} claim_kinds[] = {
	{ VIEW_PCICLAIM, NAMES_FINALIZER_HARVESTER_PCI },
	{ VIEW_USBCLAIM, NAMES_FINALIZER_HARVESTER_USB },
};

struct life {
	struct api_kind kinds[VIEW_KINDS];
	struct fake_server *servers[VIEW_KINDS];
	struct fake_clock *clock;
	struct uninstall *un;
	bool was_gone[NODES]; /* the node has been deleted at least once */
	bool ended;
	int status;
};

static const char *const node_names[NODES] = { "n1", "n2" };

static void on_line(void *arg, const char *line)
{
	const struct life *life = arg;

	assert_false(life->ended);
	assert_true(*line);
}

static void on_end(void *arg, int status, const struct err *err)
{
	struct life *life = arg;

	assert_false(life->ended);
	assert_true(!err || status == 1);
	life->ended = true;
	life->status = status;
}

/* A claim is patched only to remove its finalizer, which nobody may do in place of an agent that
 * has always been there. */
static void on_asked(void *arg, const struct fake_asked *asked)
{
	const struct life *life = arg;
	const char *node;

	if (strcmp(asked->method, "PATCH") != 0)
		return;
	node = fake_server_text(fake_server_of(life->servers[0], asked->kind->plural), asked->name,
				"spec.nodeName");
	for (int i = 0; i < NODES; i++)
		assert_true(life->was_gone[i] || strcmp(node, node_names[i]) != 0);
}

static void begin(struct life *life)
{
	life->ended = false;
	life->un = uninstall_new(&(struct uninstall_deps){
		.client = fake_server_client(life->servers[0]),
		.clock = fake_clock_as_clock(life->clock),
		.on_line = on_line,
		.on_end = on_end,
		.arg = life,
	});
}

static void *life_open(struct random_world *ret_world)
{
	struct life *life = xcalloc(1, sizeof(*life));

	life->clock = fake_clock_new();
	for (int i = 0; i < VIEW_KINDS; i++) {
		life->kinds[i] = view_kind((enum view_kind)i);
		life->servers[i] = fake_server_join(life->servers[0], &life->kinds[i]);
	}
	fake_server_join(life->servers[0], &kubevirt_kind);
	fake_server_allow_unseen_deletes(life->servers[VIEW_CONFIG]);
	fake_server_listen(life->servers[0], on_asked, life);
	for (int i = 0; i < NODES; i++)
		fake_server_write(life->servers[VIEW_NODE], node_names[i], "{}");
	begin(life);
	*ret_world = (struct random_world){ .server = life->servers[0], .clock = life->clock };
	return life;
}

static void life_close(void *arg)
{
	struct life *life = arg;
	struct kube_client *client = fake_server_client(life->servers[0]);

	uninstall_free(life->un);
	assert_int_equal(fake_client_open(client), 0);
	kube_client_free(client);
	fake_server_free(life->servers[0]);
	fake_clock_free(life->clock);
	free(life);
}

static void begin_again(void *arg)
{
	struct life *life = arg;

	uninstall_free(life->un);
	begin(life);
}

/* --- what happens ----------------------------------------------------------------------------- */

static bool has_finalizer(const json_t *claim, const char *finalizer)
{
	const json_t *list = json_object_get(json_object_get(claim, "metadata"), "finalizers");
	const json_t *item;
	size_t i;

	json_array_foreach (list, i, item) {
		if (strcmp(json_string_value(item), finalizer) == 0)
			return true;
	}
	return false;
}

/* A user creates it, and its agent has seen it; perhaps another controller has, too. */
static void create_claim(const struct life *life, const struct claim_kind *of, const char *name,
			 uint64_t *seed)
{
	const char *node = node_names[suite_random(seed) % NODES];
	bool others = suite_random(seed) % 4 == 0;
	auto_free char *text =
		xasprintf("{'metadata':{'finalizers':['%s'%s]},'spec':{'nodeName':'%s'},"
			  "'status':{'nodeName':'%s'}}",
			  of->finalizer, others ? ",'" OTHERS "'" : "", node, node);

	if (!fake_server_get(life->servers[of->kind], name))
		fake_server_put(life->servers[of->kind], name, text);
}

/* If it is being deleted, its agent, which runs on the node, and the other controller end. */
static void release_claim(const struct life *life, const struct claim_kind *of, const char *name)
{
	struct fake_server *server = life->servers[of->kind];
	const json_t *claim = fake_server_get(server, name);
	bool keeps;
	auto_free char *text = NULL;

	if (!*fake_server_text(server, name, "metadata.deletionTimestamp"))
		return;
	keeps = has_finalizer(claim, of->finalizer) &&
		!fake_server_get(life->servers[VIEW_NODE],
				 fake_server_text(server, name, "status.nodeName"));
	text = keeps ? xasprintf("{'metadata':{'finalizers':['%s']}}", of->finalizer)
		     : xstrdup("{'metadata':{'finalizers':[]}}");
	fake_server_write(server, name, text);
}

static void something(void *arg, uint64_t *seed)
{
	struct life *life = arg;
	const struct claim_kind *of = &claim_kinds[suite_random(seed) % ARRAY_LEN(claim_kinds)];
	auto_free char *name = xasprintf("c%d", (int)(suite_random(seed) % CLAIMS));
	size_t node = suite_random(seed) % NODES;

	switch (suite_random(seed) % 12) {
	case 0:
		fake_server_write(life->servers[VIEW_NODE], node_names[node], "{}");
		return;
	case 1:
		life->was_gone[node] = life->was_gone[node] || suite_random(seed) % 8 == 0;
		if (life->was_gone[node])
			fake_server_delete(life->servers[VIEW_NODE], node_names[node]);
		return;
	case 2:
		fake_server_write(life->servers[VIEW_CONFIG], "default", "{'spec':{}}");
		return;
	case 3:
		if (life->ended)
			begin_again(life);
		return;
	case 4:
		fake_server_delete(life->servers[of->kind], name);
		return;
	case 5:
	case 6:
	case 7:
		release_claim(life, of, name);
		return;
	default:
		create_claim(life, of, name, seed);
		return;
	}
}

/* --- how it ends ------------------------------------------------------------------------------ */

static size_t claims(const struct life *life)
{
	return fake_server_count(life->servers[VIEW_PCICLAIM]) +
	       fake_server_count(life->servers[VIEW_USBCLAIM]);
}

/* Whoever finds that something is left, or that it failed, runs it once more. */
static void end_well(void *arg)
{
	struct life *life = arg;
	bool left = claims(life) > 0 || fake_server_count(life->servers[VIEW_CONFIG]) > 0;

	for (size_t i = 0; i < ARRAY_LEN(claim_kinds); i++) {
		for (int n = 0; n < CLAIMS; n++) {
			auto_free char *name = xasprintf("c%d", n);

			release_claim(life, &claim_kinds[i], name);
		}
	}
	if (life->ended && (life->status != 0 || left))
		begin_again(life);
}

static void assert_end(void *arg)
{
	const struct life *life = arg;

	assert_int_equal(claims(life), 0);
	assert_int_equal(fake_server_count(life->servers[VIEW_CONFIG]), 0);
	assert_true(life->ended);
	assert_int_equal(life->status, 0);
}

static const struct random_kind lives = {
	.name = "claims that an uninstallation deletes",
	.open = life_open,
	.close = life_close,
	.something = something,
	.begin_again = begin_again,
	.end_well = end_well,
	.assert_end = assert_end,
};

int main(void)
{
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	random_lives(&suite, &lives, 30);
	return suite_run(&suite, "uninstall");
}

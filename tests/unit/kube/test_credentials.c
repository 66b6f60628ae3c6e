#include "unit/folder.h"

#include <errno.h>

#include "base/err.h"
#include "base/file.h"
#include "kube/config.h"
#include "kube/credentials.h"
#include "unit/suite.h"

enum { START = 5000 };

struct looks {
	struct folder folder;
	struct kube_config config;
	struct credentials *credentials;
	struct credential_files files;
	bool changed;
};

static void looks_init(struct looks *l)
{
	*l = (struct looks){ 0 };
	folder_init(&l->folder);
	l->config.token_path = folder_path(&l->folder, "token");
	l->credentials = credentials_new(&l->config);
}

static void looks_done(struct looks *l)
{
	credentials_free(l->credentials);
	kube_config_done(&l->config);
	folder_done(&l->folder);
}

SUITE_FIXTURE(looks, struct looks, looks_init, looks_done);

static int look(struct looks *l, uint64_t now_ms)
{
	struct err err;

	return credentials_refresh(l->credentials, now_ms, &l->files, &l->changed, &err);
}

/* Replaced by a rename, as the kubelet's symlink swap looks to a reader of the path. */
static void swap_file(const struct looks *l, const char *name, const char *text)
{
	auto_free char *part = folder_path(&l->folder, "part");
	auto_free char *path = folder_path(&l->folder, name);

	folder_put(&l->folder, "part", text);
	assert_int_equal(rename(part, path), 0);
}

static void a_token_loses_its_line_break(void **state)
{
	struct looks *l = *state;

	folder_put(&l->folder, "token", "abc.def \r\n\n");
	assert_int_equal(look(l, START), 0);
	assert_string_equal(credentials_token(l->credentials), "abc.def");
}

static void a_new_token_is_seen_within_a_second(void **state)
{
	struct looks *l = *state;

	folder_put(&l->folder, "token", "one");
	assert_int_equal(look(l, START), 0);
	swap_file(l, "token", "two");
	assert_int_equal(look(l, START + 999), 0);
	assert_string_equal(credentials_token(l->credentials), "one");
	assert_int_equal(look(l, START + 1000), 0);
	assert_string_equal(credentials_token(l->credentials), "two");
	assert_false(l->changed); /* the first one was good: its connection is */
}

static void a_rejected_token_is_read_at_once(void **state)
{
	struct looks *l = *state;

	folder_put(&l->folder, "token", "one");
	assert_int_equal(look(l, START), 0);
	swap_file(l, "token", "two");
	credentials_reject(l->credentials);
	assert_int_equal(look(l, START + 1), 0);
	assert_string_equal(credentials_token(l->credentials), "two");
	assert_true(l->changed);
	credentials_reject(l->credentials);
	assert_int_equal(look(l, START + 2), 0);
	assert_false(l->changed);
}

static void a_swapped_symlink_is_a_new_token(void **state)
{
	struct looks *l = *state;
	auto_free char *link = NULL;
	auto_free char *token = NULL;

	folder_put(&l->folder, "v1/token", "one");
	folder_put(&l->folder, "v2/token", "two");
	link = folder_path(&l->folder, "..data");
	token = folder_path(&l->folder, "token");
	assert_int_equal(symlink("v1", link), 0);
	assert_int_equal(symlink("..data/token", token), 0);
	assert_int_equal(look(l, START), 0);
	assert_string_equal(credentials_token(l->credentials), "one");
	assert_int_equal(unlink(link), 0);
	assert_int_equal(symlink("v2", link), 0);
	assert_int_equal(look(l, START + 1000), 0);
	assert_string_equal(credentials_token(l->credentials), "two");
}

static void a_missing_file_costs_no_token(void **state)
{
	struct looks *l = *state;

	folder_put(&l->folder, "token", "one");
	assert_int_equal(look(l, START), 0);
	assert_int_equal(unlink(l->config.token_path), 0);
	assert_int_equal(look(l, START + 1000), 0);
	assert_string_equal(credentials_token(l->credentials), "one");
}

static struct bad_token {
	const char *name;
	const char *text; /* NULL: no file */
	int code;
} bad_tokens[] = {
	{ "no token file is an error", NULL, -ENOENT },
	{ "an empty token is an error", "\n", -EINVAL },
	{ "a token with a line break inside is an error", "a\nb", -EINVAL },
	{ "a token that is not ASCII is an error", "\xc3\xa4", -EINVAL },
};

static void bad_token_is_refused(void **state)
{
	const struct bad_token *c = suite_row(state);
	struct err err = { 0 };
	struct looks *l = *state;

	if (c->text)
		folder_put(&l->folder, "token", c->text);
	assert_int_equal(credentials_refresh(l->credentials, START, &l->files, &l->changed, &err),
			 c->code);
	assert_non_null(strstr(err.msg, l->config.token_path));
	assert_null(credentials_token(l->credentials));
}

static void a_changed_ca_is_told_once(void **state)
{
	struct looks *l = *state;

	folder_put(&l->folder, "token", "t");
	folder_put(&l->folder, "ca", "one");
	l->config.ca.path = folder_path(&l->folder, "ca");
	assert_int_equal(look(l, START), 0);
	assert_true(l->changed);
	assert_string_equal(l->files.ca, l->config.ca.path);
	assert_int_equal(look(l, START + 1000), 0);
	assert_false(l->changed);
	swap_file(l, "ca", "two");
	assert_int_equal(look(l, START + 1500), 0);
	assert_false(l->changed);
	assert_int_equal(look(l, START + 2000), 0);
	assert_true(l->changed);
	assert_int_equal(look(l, START + 3000), 0);
	assert_false(l->changed);
}

/* What a look that failed has noticed must not be lost. */
static void a_failed_look_does_not_swallow_a_change(void **state)
{
	struct looks *l = *state;

	folder_put(&l->folder, "ca", "one");
	l->config.ca.path = folder_path(&l->folder, "ca");
	assert_int_equal(look(l, START), -ENOENT);
	folder_put(&l->folder, "token", "t");
	assert_int_equal(look(l, START + 1), 0);
	assert_true(l->changed);
}

static void inline_data_is_a_file_in_memory(void **state)
{
	auto_free char *text = NULL;
	struct looks *l = *state;

	folder_put(&l->folder, "token", "t");
	l->config.cert.data = xstrdup("-----BEGIN X-----\n-----END X-----");
	l->config.cert.len = strlen(l->config.cert.data);
	assert_int_equal(look(l, START), 0);
	assert_int_equal(strncmp(l->files.cert, "/proc/self/fd/", 14), 0);
	for (int i = 0; i < 2; i++) {
		free(text);
		text = NULL;
		assert_int_equal(file_read(AT_FDCWD, l->files.cert, 100, &text, NULL, NULL), 0);
		assert_string_equal(text, l->config.cert.data);
	}
	assert_null(l->files.ca);
	assert_int_equal(look(l, START + 1000), 0);
	assert_false(l->changed);
}

static void a_token_of_the_configuration_needs_no_file(void **state)
{
	struct looks *l = *state;

	free(l->config.token_path);
	l->config.token_path = NULL;
	l->config.token = xstrdup("abc");
	assert_int_equal(look(l, START), 0);
	assert_string_equal(credentials_token(l->credentials), "abc");
}

#define PEM(what) "-----BEGIN " what "-----"

static void what_is_given_counts_over_the_configuration(void **state)
{
	const struct kube_proof first = { .token = "one", .cert = PEM("1"), .key = PEM("2") };
	const struct kube_proof second = { .token = "two" };
	auto_free char *text = NULL;
	auto_free char *path = NULL;
	struct looks *l = *state;

	folder_put(&l->folder, "token", "t");
	assert_int_equal(look(l, START), 0);
	credentials_set(l->credentials, &first);
	assert_int_equal(look(l, START), 0);
	assert_string_equal(credentials_token(l->credentials), "one");
	assert_true(l->changed);
	assert_int_equal(file_read(AT_FDCWD, l->files.cert, 100, &text, NULL, NULL), 0);
	assert_string_equal(text, PEM("1"));
	path = xstrdup(l->files.key);
	/* A refusal is for who gives to hear of: the file has no part in it any more. */
	credentials_reject(l->credentials);
	assert_int_equal(look(l, START), 0);
	assert_string_equal(credentials_token(l->credentials), "one");
	/* The same again needs no new connection. */
	credentials_set(l->credentials, &first);
	assert_int_equal(look(l, START), 0);
	assert_false(l->changed);
	assert_string_equal(l->files.key, path);
	credentials_set(l->credentials, &second);
	assert_int_equal(look(l, START), 0);
	assert_string_equal(credentials_token(l->credentials), "two");
	assert_true(l->changed);
	assert_null(l->files.cert);
}

static void a_configured_certificate_stays(void **state)
{
	const struct kube_proof proof = { .token = "one", .cert = PEM("1"), .key = PEM("2") };
	struct looks *l = *state;

	l->config.cert.path = folder_path(&l->folder, "cert");
	l->config.key.path = folder_path(&l->folder, "key");
	credentials_set(l->credentials, &proof);
	assert_int_equal(look(l, START), 0);
	assert_string_equal(l->files.cert, l->config.cert.path);
	assert_string_equal(l->files.key, l->config.key.path);
}

enum { NOW = 1000 };

static void without_a_provider_nothing_is_needed(void **state)
{
	struct proof proof = { 0 };

	assert_false(proof_is_needed(&proof, NOW));
}

static void it_is_needed_until_it_came_and_once_it_is_over(void **state)
{
	struct kube_provider provider = { 0 };
	struct proof proof = { .provider = &provider };

	assert_true(proof_is_needed(&proof, NOW));
	proof_set(&proof, NOW + 5);
	assert_false(proof_is_needed(&proof, NOW + 4));
	assert_true(proof_is_needed(&proof, NOW + 5));
	proof_set(&proof, INT64_MAX);
	assert_false(proof_is_needed(&proof, INT64_MAX - 1));
}

static void what_is_refused_is_needed_anew(void **state)
{
	struct kube_provider provider = { 0 };
	struct proof proof = { .provider = &provider };
	uint64_t first;

	proof_set(&proof, INT64_MAX);
	first = proof.number;
	proof_refuse(&proof, first);
	assert_true(proof_is_needed(&proof, NOW));
	proof_set(&proof, INT64_MAX);
	assert_false(proof_is_needed(&proof, NOW));
	/* Another request that went with the first one comes back late. */
	proof_refuse(&proof, first);
	assert_false(proof_is_needed(&proof, NOW));
}

static void which_ones_are_refused_stays_known(void **state)
{
	struct proof proof = { 0 };

	assert_false(proof_is_refused(&proof, 0));
	proof_refuse(&proof, 0);
	assert_false(proof_is_refused(&proof, 0));
	proof_set(&proof, INT64_MAX);
	proof_set(&proof, INT64_MAX);
	assert_false(proof_is_refused(&proof, 1));
	assert_true(proof_refuse(&proof, 2));
	assert_false(proof_refuse(&proof, 1));
	proof_set(&proof, INT64_MAX);
	assert_true(proof_refuse(&proof, 1));
	assert_true(proof_is_refused(&proof, 1) && proof_is_refused(&proof, 2));
	assert_false(proof_is_refused(&proof, 3));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "without a provider nothing is needed",
		  without_a_provider_nothing_is_needed, NULL);
	suite_add(&suite, "it is needed until it came, and once it is over",
		  it_is_needed_until_it_came_and_once_it_is_over, NULL);
	suite_add(&suite, "what is refused is needed anew", what_is_refused_is_needed_anew, NULL);
	suite_add(&suite, "which ones are refused stays known", which_ones_are_refused_stays_known,
		  NULL);
	suite_fixture(&suite, &looks_fixture);
	suite_add(&suite, "a token loses its line break", a_token_loses_its_line_break, NULL);
	suite_add(&suite, "a new token is seen within a second",
		  a_new_token_is_seen_within_a_second, NULL);
	suite_add(&suite, "a rejected token is read at once", a_rejected_token_is_read_at_once,
		  NULL);
	suite_add(&suite, "a swapped symlink is a new token", a_swapped_symlink_is_a_new_token,
		  NULL);
	suite_add(&suite, "a missing file costs no token", a_missing_file_costs_no_token, NULL);
	suite_rows(&suite, bad_tokens, bad_token_is_refused);
	suite_add(&suite, "a changed CA is told once", a_changed_ca_is_told_once, NULL);
	suite_add(&suite, "a failed look does not swallow a change",
		  a_failed_look_does_not_swallow_a_change, NULL);
	suite_add(&suite, "inline data is a file in memory", inline_data_is_a_file_in_memory, NULL);
	suite_add(&suite, "a token of the configuration needs no file",
		  a_token_of_the_configuration_needs_no_file, NULL);
	suite_add(&suite, "what is given counts over the configuration",
		  what_is_given_counts_over_the_configuration, NULL);
	suite_add(&suite, "a configured certificate stays", a_configured_certificate_stays, NULL);
	return suite_run(&suite, "credentials");
}

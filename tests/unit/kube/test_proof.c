#include "unit/suite.h"

#include "kube/provider.h"

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
	return suite_run(&suite, "proof");
}

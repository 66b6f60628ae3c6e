#include "kube/provider.h"

bool proof_is_needed(const struct proof *proof, int64_t wall_ms)
{
	return proof->provider && (proof->number == 0 || proof->refused == proof->number ||
				   wall_ms >= proof->expires_ms);
}

bool proof_refuse(struct proof *proof, uint64_t number)
{
	bool newest_too = number < proof->refused && proof->refused == proof->number;

	if (number > proof->refused)
		proof->refused = number;
	return !newest_too;
}

bool proof_is_refused(const struct proof *proof, uint64_t number)
{
	return number > 0 && number <= proof->refused;
}

void proof_set(struct proof *proof, int64_t expires_ms)
{
	proof->number++;
	proof->expires_ms = expires_ms;
}

#include "kube/proof.h"

bool proof_is_needed(const struct proof *proof, int64_t wall_ms)
{
	return proof->provider &&
	       (proof->number == 0 || proof->refused || wall_ms >= proof->expires_ms);
}

void proof_refuse(struct proof *proof, uint64_t number)
{
	if (number == proof->number)
		proof->refused = true;
}

void proof_came(struct proof *proof, int64_t expires_ms)
{
	proof->number++;
	proof->expires_ms = expires_ms;
	proof->refused = false;
}

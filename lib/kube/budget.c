#include "kube/budget.h"

bool budget_take(struct budget *budget, const struct budget_bound *bound, uint64_t now_ms)
{
	uint64_t tokens = (now_ms - budget->filled_ms) / bound->refill_ms;

	if (!budget->begun || budget->tokens + tokens >= bound->burst) {
		*budget = (struct budget){ true, bound->burst, now_ms };
	} else {
		budget->tokens += (unsigned)tokens;
		budget->filled_ms += tokens * bound->refill_ms;
	}
	if (budget->tokens == 0)
		return false;
	budget->tokens--;
	return true;
}

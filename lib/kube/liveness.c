#include "kube/liveness.h"

void liveness_received(struct liveness *l, uint64_t now_ms)
{
	l->received_ms = now_ms;
	l->probed_ms = 0;
}

enum liveness_act liveness_check(struct liveness *l, uint64_t now_ms)
{
	if (l->probed_ms)
		return now_ms - l->probed_ms >= LIVENESS_ANSWER_MS ? LIVENESS_DEAD : LIVENESS_FINE;
	if (now_ms - l->received_ms < LIVENESS_SILENT_MS)
		return LIVENESS_FINE;
	l->probed_ms = now_ms;
	return LIVENESS_PROBE;
}

#include "kube/liveness.h"

void liveness_heard(struct liveness *l, uint64_t now_ms)
{
	l->heard_ms = now_ms;
	l->asked_ms = 0;
}

enum liveness_act liveness_check(struct liveness *l, uint64_t now_ms)
{
	if (l->asked_ms)
		return now_ms - l->asked_ms >= LIVENESS_ANSWER_MS ? LIVENESS_DEAD : LIVENESS_FINE;
	if (now_ms - l->heard_ms < LIVENESS_SILENT_MS)
		return LIVENESS_FINE;
	l->asked_ms = now_ms;
	return LIVENESS_ASK;
}

/*
 * cdi_guard: restores the CDI files of prepared claims.
 *
 * A container that restarts in its pod needs the CDI file of its claim, but the kubelet does not
 * prepare the claim again. So each file is watched while its claim is prepared. If it is removed or
 * replaced, it is written again at once, and every KUBELET_POLL_MS until that succeeds.
 */
#pragma once

struct cdi_guard;
struct cdi_place;
struct kubelet_watch;
struct metrics;
struct prepared_claim;

/* @watch, @place and @metrics, which may be NULL, are borrowed. */
struct cdi_guard *cdi_guard_new(struct kubelet_watch *watch, const struct cdi_place *place,
				struct metrics *metrics);
/* Takes NULL, returns NULL. */
struct cdi_guard *cdi_guard_free(struct cdi_guard *guard);

/* Start to guard the files of @claim, which is borrowed until it is removed. Call it after the
 * files were written; the guard writes missing ones. */
void cdi_guard_add(struct cdi_guard *guard, const struct prepared_claim *claim);
/* Call it before the files are removed. No effect if @claim was not added. */
void cdi_guard_remove(struct cdi_guard *guard, const struct prepared_claim *claim);

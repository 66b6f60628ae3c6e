/*
 * cdi_guard: keeps the CDI files of the prepared claims where they are.
 *
 * A container that starts again in its pod needs the file of its claim, and nobody prepares the
 * claim again for it. Each file has a watch while its claim is prepared; a file that was removed or
 * replaced is written again at once, or every KUBELET_POLL_MS until that succeeds.
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

/* The files of @claim, which is borrowed until it is removed, have been written, or could not be:
 * the guard then writes them. */
void cdi_guard_add(struct cdi_guard *guard, const struct prepared_claim *claim);
/* Before its files are removed. Without effect if it was not added. */
void cdi_guard_remove(struct cdi_guard *guard, const struct prepared_claim *claim);

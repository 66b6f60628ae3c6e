/* advice: what to do about a condition's reason. Pure. */
#pragma once

/* One or more sentences; NULL where nothing is to be done, or the reason is not known. Static. */
const char *advice_for(const char *reason);

/* The same for the caller to free, with @node in the place of the word NODE, and @device of the word DEVICE; "" leaves
 * that word. */
char *advice_about(const char *reason, const char *node, const char *device);

/* advice: what to do about a condition's reason. Pure. */
#pragma once

/* One or more sentences; NULL where nothing is to be done, or the reason is not known. Static. */
const char *advice_for(const char *reason);

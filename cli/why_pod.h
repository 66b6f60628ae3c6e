/* why_pod: explains a pod that waits for devices, or has them. */
#pragma once

struct command_run;

/* Print the resources that the pod @word, "NAMESPACE/NAME", requests, and who has the devices that
 * are offered as these. The exit status; the cause has been printed then. */
int why_pod(struct command_run *run, const char *word);

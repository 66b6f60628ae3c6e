/* sriov_job: what one run of hostdev-helper vfs is to do with one card. Text only. */
#pragma once

#include <stdbool.h>

#include "api/json_values.h"

struct pci_facts;
struct sriovnetworkdevice;

/* The texts of a job are its own (sriov_job_done). */
struct sriov_job {
	struct json_strs words; /* of the command line; empty: no job */
	bool count;             /* it changes how many there are */
};

/* Have @object->spec.numVFs of them if @count, else as many as there are; and all settings. */
void sriov_job_make(const struct sriovnetworkdevice *object, const struct pci_facts *pf, bool count,
		    struct sriov_job *ret_job);
void sriov_job_done(struct sriov_job *job);

/* Has @object settings of any virtual function below @count? */
bool sriov_job_has_settings(const struct sriovnetworkdevice *object, int count);

/* Has it settings of the virtual function @index? */
bool sriov_job_sets(const struct sriovnetworkdevice *object, int index);

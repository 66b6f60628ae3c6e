/*
 * sriov_judge: may the spec of an SRIOVNetworkDevice be carried out?
 *
 * Reasons of the condition Accepted. True: Accepted. False, in this order:
 *   DeviceNotFound      neither name nor address stands for a card of the node
 *   DeviceGone          the card was there
 *   Duplicate           another object is about the same card
 *   DifferentDevice     another card is at its address
 *   NotPhysicalFunction it cannot make virtual functions
 *   TooManyVFs          it cannot make that many
 *   (only if their number is to change, or there are settings)
 *   HostNetwork ...     the node cannot spare the card (sriov_look_critical)
 *   UseUnknown          it cannot be read whether it can (sriov_look_unread)
 *   (only if their number is to change)
 *   PassedThrough       the card itself is claimed
 *   VFsInUse            somebody has one of those that would have to be removed
 *   (only if there are settings)
 *   HostNetwork ...     the node cannot spare a virtual function that is to be set
 *   UseUnknown          it cannot be seen whether it can
 *   DuplicateMAC        two virtual functions are to have one address
 *   NoInterface         the card has no network interface
 */
#pragma once

#include <stdbool.h>

struct sriov_case;

struct sriov_verdict {
	bool ok;
	bool change;        /* the number of virtual functions is to change; with ok only */
	bool settings;      /* there are settings of those that are there, or wanted      */
	const char *reason; /* static, or part of the case */
	char *message;      /* never NULL                  */
};

/* The case has an object. The caller releases *@ret_verdict. */
void sriov_judge(const struct sriov_case *c, struct sriov_verdict *ret_verdict);
void sriov_verdict_done(struct sriov_verdict *verdict);

/* "8086:10c9" of the card; the caller frees. */
char *sriov_judge_device(const struct sriov_case *c);

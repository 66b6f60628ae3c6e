/*
 * sriov_check: may the spec of an SRIOVNetworkDevice be applied to its card?
 *
 * Reasons of the condition Accepted. True: Accepted. False, in this order:
 *   DeviceNotFound      neither name nor address is that of a card of the node
 *   DeviceGone          the card was there
 *   Duplicate           another object is about the same card
 *   DifferentDevice     another card is at its address
 *   NotPhysicalFunction it does not support virtual functions
 *   TooManyVFs          it does not support that many
 *   (only if their number is to change, or there are settings)
 *   HostNetwork ...     the node needs the card (sriov_card_critical)
 *   UseUnknown          it is unknown whether it does (sriov_card_unread)
 *   (only if their number is to change)
 *   PassedThrough       the card itself is claimed
 *   VFsInUse            one of those that would be removed is in use
 *   (only if there are settings)
 *   HostNetwork ...     the node needs a virtual function that is to be set
 *   UseUnknown          it is unknown whether it does
 *   DuplicateMAC        two virtual functions would have one address
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
void sriov_check(const struct sriov_case *c, struct sriov_verdict *ret_verdict);
void sriov_verdict_done(struct sriov_verdict *verdict);

/* "8086:10c9" of the card; the caller frees. */
char *sriov_other_device(const struct sriov_case *c);

/* claim_usb: do claims of USB devices keep their controller from being claimed? Pure. */
#pragma once

struct claim_case;

/* "USBDeviceClaim 'a' and 2 more": those of devices on the controller at @address that the status says
 * they are for, present or not; NULL: there is none. The caller frees. */
char *claim_usb_claims(const struct claim_case *c, const char *address);

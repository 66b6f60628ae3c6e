/*
 * usb_rebind: unbinds a USB device from the kernel's driver "usb" and binds it again, which ends
 * every open descriptor of its node in /dev/bus/usb, in all processes.
 *
 * The driver's disconnect() lets usbfs drop all descriptors of the device, as for an unplugged
 * device (usb_generic_driver_disconnect() of drivers/usb/core/generic.c, usbdev_remove() of
 * devio.c): pending requests are cancelled, and every later one fails with ENODEV. The device keeps
 * its number, and with it the name of its USBDevice. A port's attribute "disable" would end the
 * descriptors too, but changes the device's number, and exists only since Linux 6.0.
 *
 * Reads the state before every step and keeps no progress. Every write is read back.
 */
#pragma once

struct err;
struct run_options;

/* What usb-rebind is asked for. The texts are the words'. */
struct usb_rebind_job {
	const char *port; /* "1-2.3" */
	int bus;
	int device; /* with this number: another one in the port is left alone             */
	const char *allow_unknown; /* "1": also if its use by the host is unknown; NULL */
};

/* @words end in NULL. ERR_INVALID, -EINVAL, naming the word. */
int usb_rebind_job_parse(char **words, struct usb_rebind_job *ret_job, struct err *err);

/*
 * Rebind the device of @job. A device that is gone, or has another number, has no descriptors left
 * and counts as done. A hub and a device that the host uses are refused with InUse. Returns 0 for
 * every result, which the last line reports; < 0 if lines could not be written.
 */
int usb_rebind(const struct run_options *options, const struct usb_rebind_job *job,
	       struct err *err);

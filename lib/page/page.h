/*
 * page: the files of the device map's page, which both `kubectl hostdev map` and the controller
 * serve, and the headers that they are sent with.
 *
 * The same files for both: by its own address the page knows where its data comes from
 * (docs/map.md).
 */
#pragma once

struct serve_files;

extern const struct serve_files page_files;

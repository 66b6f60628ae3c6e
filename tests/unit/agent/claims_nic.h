/* claims_nic: a node with one NIC, its claim at each stage of its life, and what helpers may say of
 * it. */
#pragma once

#include "unit/agent/claims_bench.h"

#define NAME "node1-000001000"
#define NIC(driver)                                                                               \
	"{\"kind\":\"pci\",\"address\":\"0000:01:00.0\",\"vendor\":\"8086\",\"device\":\"10d3\"," \
	"\"class\":\"020000\",\"iommuGroup\":\"1\",\"driver\":\"" driver "\"}"
#define RECORD(uid)                                                                               \
	"{\"kind\":\"record\",\"address\":\"0000:01:00.0\",\"claim\":\"" NAME "\",\"uid\":\"" uid \
	"\",\"driver\":\"vfio-pci\",\"native\":\"e1000e\",\"id\":\"8086:10d3\"}"
/* It says the driver of a bound one, as if each write of the agent were there at once. */
#define DEVICE                                                                           \
	"{\"metadata\":{\"name\":\"" NAME "\",\"uid\":\"d1\",\"resourceVersion\":\"7\"," \
	"\"annotations\":{\"harvesterhci.io/pcideviceDriver\":\"e1000e\"}},\"status\":{" \
	"\"kernelDriverInUse\":\"vfio-pci\"}}"
#define IOMMU  "{\"kind\":\"host\",\"iommu\":true}"
#define CLAIM  "{\"address\":\"0000:01:00.0\",\"nodeName\":\"node1\",\"userName\":\"admin\"}"
#define LAUNCH "bind 1: 0000:01:00.0 e1000e->vfio-pci for " NAME "/u1"
#define RETURN "release 1: 0000:01:00.0 e1000e->vfio-pci for " NAME "/u1"

static const char *const free_nic[] = { NIC("e1000e"), NULL };
static const char *const bound_nic[] = { NIC("vfio-pci"), RECORD("u1"), NULL };
static const char *const foreign_nic[] = { NIC("vfio-pci"), NULL };
static const char *const nothing[] = { NULL };

static struct binder_seen on_vfio[] = { { TEXT("0000:01:00.0"), TEXT("vfio-pci"),
					  TEXT("vfio-pci") } };
static struct binder_seen on_native[] = { { TEXT("0000:01:00.0"), TEXT("e1000e"), NULL } };

#define BOUND                                                                        \
	(struct binder_outcome)                                                      \
	{                                                                            \
		.task = { .result = TASK_DONE, .message = TEXT("bound") }, .seen = { \
			.items = on_vfio,                                            \
			.len = 1                                                     \
		}                                                                    \
	}
#define RETURNED                                                                     \
	(struct binder_outcome)                                                      \
	{                                                                            \
		.task = { .result = TASK_DONE, .message = TEXT("given") }, .seen = { \
			.items = on_native,                                          \
			.len = 1                                                     \
		}                                                                    \
	}
#define HELD                                                                          \
	(struct binder_outcome)                                                       \
	{                                                                             \
		.task = { .result = TASK_HELD,                                        \
			  .reason = TEXT("Held"),                                     \
			  .message = TEXT("process 123 (qemu) has /dev/vfio/1 open"), \
			  .step = TEXT("CheckHolders"),                               \
			  .holder = TEXT("process 123 (qemu)"),                       \
			  .holder_pid = 123 },                                        \
		.seen = {                                                             \
			.items = on_vfio,                                             \
			.len = 1                                                      \
		}                                                                     \
	}
#define OUTCOME(result_, reason_)                             \
	(struct binder_outcome)                               \
	{                                                     \
		.task = { .result = (result_),                \
			  .reason = TEXT(reason_),            \
			  .message = TEXT("it did not work"), \
			  .step = TEXT("Unbind"),             \
			  .address = TEXT("0000:01:00.0") },  \
		.seen = {                                     \
			.items = on_native,                   \
			.len = 1                              \
		}                                             \
	}

/* A node with a NIC on its driver, and its PCIDevice; nothing is claimed. */
static inline void open_free(struct bench *b)
{
	bench_open(b);
	bench_list(b, DEVICE);
	bench_look(b, free_nic);
	assert_int_equal(bench_asking(b), 0);
}

SUITE_FIXTURE(free, struct bench, open_free, bench_close);

/* The claim is there, and the helper at work. */
static inline void open_binding(struct bench *b)
{
	open_free(b);
	bench_create(b, NAME, CLAIM);
	bench_serve(b);
	assert_int_equal(fake.binder->started, 1);
	assert_string_equal(fake.binder->jobs.items[0]->text, LAUNCH);
	str_clear(&b->log);
	str_clear(&b->events.said);
}

SUITE_FIXTURE(binding, struct bench, open_binding, bench_close);

static inline void open_ready(struct bench *b)
{
	open_binding(b);
	bench_end(b, BOUND);
	bench_serve(b);
	bench_look(b, bound_nic);
	bench_has(b, NAME, "\"passthroughEnabled\":true");
	str_clear(&b->log);
	str_clear(&b->events.said);
	b->writes = 0;
}

SUITE_FIXTURE(ready, struct bench, open_ready, bench_close);

/* Its deletion was asked for, and the helper gives it back. */
static inline void open_releasing(struct bench *b)
{
	open_ready(b);
	bench_delete(b, NAME);
	bench_serve(b);
	assert_int_equal(fake.binder->jobs.len, 1);
	assert_string_equal(fake.binder->jobs.items[0]->text, RETURN);
	str_clear(&b->log);
}

SUITE_FIXTURE(releasing, struct bench, open_releasing, bench_close);

/* Whatever happens to it, it gets there within some minutes. */
static inline void run_until_ready(struct bench *b)
{
	for (int i = 0; i < 3000 && !bench_is(b, NAME, "\"passthroughEnabled\":true"); i++) {
		bench_serve(b);
		if (fake.binder->jobs.len)
			bench_end(b, BOUND);
		bench_advance(b, 100);
	}
	bench_has(b, NAME, "\"passthroughEnabled\":true");
}

#include "fake/nvml/scene.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/timefmt.h"

enum {
	WORDS_MAX = 24,
	RULES_MAX = 256,
	FUNCTION_SIZE = 48,
	FUNCTIONS_MAX = 128,
	SCENE_MAX = 1 << 20,
	DATAGRAM_MAX = 64 << 10,
	EVERY_GPU = -1,
	NO_GPU = -2, /* the system */
	TICK_MS = 1000,
};

/* What calls of a function return, or how long they hang. */
struct rule {
	int gpu;
	char function[FUNCTION_SIZE];
	int code;
	bool hangs;
	uint64_t ms; /* 0: until they resume */
};

struct words {
	char *items[WORDS_MAX];
	size_t len;
};

struct scene scene = { .driver = "550.54.15" };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rule rules[RULES_MAX];
static size_t rules_len;
static int socket_fd = -1;
static bool is_read;
static struct {
	char function[FUNCTION_SIZE];
	unsigned times;
} calls[FUNCTIONS_MAX];
static size_t calls_len;

/* A scene that cannot be played is a mistake in the test. */
static void refuse(const char *what, const char *word) __attribute__((noreturn));

static void refuse(const char *what, const char *word)
{
	(void)fprintf(stderr, "fake nvml: %s: '%s'\n", what, word);
	abort();
}

static const char *word(const struct words *words, size_t i)
{
	if (i >= words->len)
		refuse("a word is missing after", words->items[words->len - 1]);
	return words->items[i];
}

static uint64_t number(const struct words *words, size_t i)
{
	uint64_t value;

	if (!str_to_u64(word(words, i), &value) && !str_to_hex(word(words, i), &value))
		refuse("not a number", word(words, i));
	return value;
}

static struct fake_gpu *gpu_of(const struct words *words, size_t i)
{
	uint64_t n = number(words, i);

	if (n >= scene.len)
		refuse("no such GPU", word(words, i));
	return scene.gpus[n];
}

static int number_of(const struct fake_gpu *gpu)
{
	for (unsigned i = 0; i < scene.len; i++) {
		if (scene.gpus[i] == gpu)
			return (int)i;
	}
	return NO_GPU;
}

static int target(const struct words *words, size_t i)
{
	if (strcmp(word(words, i), "*") == 0)
		return EVERY_GPU;
	if (strcmp(word(words, i), "-") == 0)
		return NO_GPU;
	return number_of(gpu_of(words, i));
}

static void set_text(char *to, size_t size, const char *text)
{
	(void)snprintf(to, size, "%s", text);
}

static void do_driver(const struct words *words)
{
	set_text(scene.driver, sizeof(scene.driver), word(words, 1));
}

static void do_init(const struct words *words)
{
	scene.init_code = (int)number(words, 1);
}

static void do_wait(const struct words *words)
{
	scene.wait_code = (int)number(words, 1);
}

static void set_key(struct fake_gpu *gpu, char *pair)
{
	char *value = strchr(pair, '=');
	uint64_t n = 0;

	if (!value)
		refuse("not KEY=VALUE", pair);
	*value++ = '\0';
	if (!str_to_u64(value, &n))
		(void)str_to_hex(value, &n);
	if (strcmp(pair, "name") == 0) {
		set_text(gpu->name, sizeof(gpu->name), value);
		for (char *c = gpu->name; *c; c++)
			*c = *c == '_' ? ' ' : *c;
	} else if (strcmp(pair, "minor") == 0) {
		gpu->minor = (unsigned)n;
	} else if (strcmp(pair, "memory") == 0) {
		gpu->memory_mib = n;
	} else if (strcmp(pair, "compute") == 0) {
		gpu->compute = (unsigned)n;
	} else if (strcmp(pair, "mig") == 0) {
		gpu->mig_mode = strcmp(value, "none") == 0 ? -1 : (int)n;
	} else if (strcmp(pair, "events") == 0) {
		gpu->events = n;
	} else if (strcmp(pair, "clique") == 0) {
		gpu->clique = (int)n;
	} else {
		refuse("a GPU has no", pair);
	}
}

static void do_gpu(const struct words *words)
{
	struct fake_gpu *gpu = xcalloc(1, sizeof(*gpu));

	if (scene.len == NVML_GPUS_MAX)
		refuse("too many GPUs", word(words, 1));
	*gpu = (struct fake_gpu){
		.device.gpu = gpu,
		.name = "NVIDIA A100-SXM4-40GB",
		.minor = scene.len,
		.compute = 80,
		.memory_mib = 40960,
		.mig_mode = -1,
		.events = NVML_EVENT_XID | NVML_EVENT_DOUBLE_BIT_ECC | NVML_EVENT_MIG |
			  NVML_EVENT_RECOVERY,
		.clique = -1,
	};
	set_text(gpu->address, sizeof(gpu->address), word(words, 1));
	set_text(gpu->uuid, sizeof(gpu->uuid), word(words, 2));
	for (size_t i = 0; i < NVML_GPUS_MAX; i++)
		gpu->level[i] = 50;
	for (size_t i = 3; i < words->len; i++)
		set_key(gpu, words->items[i]);
	scene.order[scene.len] = scene.len;
	scene.gpus[scene.len++] = gpu;
}

static void do_level(const struct words *words)
{
	struct fake_gpu *a = gpu_of(words, 1);
	struct fake_gpu *b = gpu_of(words, 2);

	a->level[number_of(b)] = b->level[number_of(a)] = (unsigned)number(words, 3);
}

static void add_links(struct fake_gpu *gpu, int peer, uint64_t n)
{
	while (n-- > 0 && gpu->links < NVML_NVLINKS_MAX)
		gpu->link[gpu->links++] = peer;
}

static void do_link(const struct words *words)
{
	struct fake_gpu *a = gpu_of(words, 1);
	struct fake_gpu *b = gpu_of(words, 2);

	add_links(a, number_of(b), number(words, 3));
	add_links(b, number_of(a), number(words, 3));
}

static void do_switch(const struct words *words)
{
	add_links(gpu_of(words, 1), -1, number(words, 2));
}

static void add_event(struct fake_gpu *gpu, const struct nvml_event *event, uint64_t times)
{
	struct fake_event *entry;

	/* The set has only what was registered for. */
	if (times == 0 || !(gpu->registered & event->type))
		return;
	if (scene.events_len == FAKE_EVENTS_MAX)
		refuse("too many events that nobody waits for", gpu->address);
	entry = &scene.events[(scene.events_first + scene.events_len++) % FAKE_EVENTS_MAX];
	*entry = (struct fake_event){ *event, times };
	entry->event.device = &gpu->device;
}

/* GI and CI are words from @i on; without them it is the whole GPU. */
static void queue_event(const struct words *words, uint64_t bits, uint64_t data, size_t i)
{
	struct nvml_event event = { .type = bits,
				    .data = data,
				    .gpu_instance = (uint32_t)NVML_WHOLE_GPU,
				    .compute_instance = (uint32_t)NVML_WHOLE_GPU };

	if (i < words->len) {
		event.gpu_instance = (uint32_t)number(words, i);
		event.compute_instance = (uint32_t)number(words, i + 1);
	}
	add_event(gpu_of(words, 1), &event, 1);
}

static void do_xid(const struct words *words)
{
	queue_event(words, NVML_EVENT_XID, number(words, 2), 3);
}

static void do_event(const struct words *words)
{
	queue_event(words, number(words, 2), number(words, 3), 4);
}

static void do_burst(const struct words *words)
{
	struct nvml_event event = { .type = NVML_EVENT_XID,
				    .data = number(words, 2),
				    .gpu_instance = (uint32_t)NVML_WHOLE_GPU,
				    .compute_instance = (uint32_t)NVML_WHOLE_GPU };

	add_event(gpu_of(words, 1), &event, number(words, 3));
}

static struct nvml_gpu_instance *mig_of(const struct words *words)
{
	struct fake_gpu *gpu = gpu_of(words, 1);

	for (size_t i = 0; i < NVML_MIG_MAX; i++) {
		struct nvml_gpu_instance *mig = &gpu->migs[i];

		if (mig->used && mig->gi == number(words, 2) && mig->ci == number(words, 3))
			return mig;
	}
	return NULL;
}

static void do_mig(const struct words *words)
{
	struct fake_gpu *gpu = gpu_of(words, 1);
	size_t i = 0;

	while (i < NVML_MIG_MAX && gpu->migs[i].used)
		i++;
	if (i == NVML_MIG_MAX)
		refuse("too many MIG devices", word(words, 1));
	gpu->migs[i] = (struct nvml_gpu_instance){
		.device = { gpu, &gpu->migs[i] },
		.used = true,
		.gi = (unsigned)number(words, 2),
		.ci = (unsigned)number(words, 3),
		.profile = (unsigned)number(words, 5),
		.gpu_slices = (unsigned)number(words, 6),
		.compute_slices = (unsigned)number(words, 7),
		.memory_mib = number(words, 8),
	};
	set_text(gpu->migs[i].uuid, sizeof(gpu->migs[i].uuid), word(words, 4));
	gpu->mig_mode = 1;
	add_event(gpu,
		  &(struct nvml_event){ .type = NVML_EVENT_MIG,
					.gpu_instance = gpu->migs[i].gi,
					.compute_instance = gpu->migs[i].ci },
		  1);
}

static void do_unmig(const struct words *words)
{
	struct nvml_gpu_instance *mig = mig_of(words);

	if (!mig)
		refuse("no such MIG device of GPU", word(words, 1));
	mig->used = false;
	queue_event(words, NVML_EVENT_MIG, 0, 2);
}

static struct rule *add_rule(const struct words *words)
{
	struct rule *rule = &rules[rules_len++];

	if (rules_len > RULES_MAX)
		refuse("too many rules", word(words, 0));
	*rule = (struct rule){ .gpu = target(words, 1) };
	set_text(rule->function, sizeof(rule->function), word(words, 2));
	return rule;
}

/* The newest rule of a function counts. */
static void do_error(const struct words *words)
{
	add_rule(words)->code = (int)number(words, 3);
}

static void do_hang(const struct words *words)
{
	struct rule *rule = add_rule(words);

	rule->hangs = true;
	rule->ms = words->len > 3 ? number(words, 3) * 1000 : 0;
}

static void do_resume(const struct words *words)
{
	size_t kept = 0;

	(void)words;
	for (size_t i = 0; i < rules_len; i++) {
		if (!rules[i].hangs)
			rules[kept++] = rules[i];
	}
	rules_len = kept;
}

static void do_lost(const struct words *words)
{
	struct fake_gpu *gpu = gpu_of(words, 1);

	gpu->lost = true;
	gpu->stale = scene.session;
}

static void do_back(const struct words *words)
{
	struct fake_gpu *gpu = gpu_of(words, 1);

	gpu->lost = gpu->removed = false;
	if (words->len > 2)
		set_text(gpu->uuid, sizeof(gpu->uuid), word(words, 2));
}

static void do_remove(const struct words *words)
{
	do_lost(words);
	gpu_of(words, 1)->removed = true;
}

static void do_move(const struct words *words)
{
	unsigned a = (unsigned)number_of(gpu_of(words, 1));
	unsigned b = (unsigned)number_of(gpu_of(words, 2));

	for (unsigned i = 0; i < scene.len; i++) {
		if (scene.order[i] == a)
			scene.order[i] = b;
		else if (scene.order[i] == b)
			scene.order[i] = a;
	}
}

static void do_field(const struct words *words)
{
	gpu_of(words, 1)->recovery = number(words, 2);
}

static char *state_path(const struct fake_gpu *gpu, const char *name)
{
	return xasprintf("%s/%s.%s", getenv("HOSTDEV_FAKE_NVML"), gpu->address, name);
}

unsigned scene_state(const struct fake_gpu *gpu, const char *name)
{
	auto_free char *path = state_path(gpu, name);
	auto_free char *text = NULL;

	if (file_read(AT_FDCWD, path, 16, &text, NULL, NULL) < 0)
		return strcmp(name, "persistence") == 0;
	return *text == '1';
}

void scene_set_state(const struct fake_gpu *gpu, const char *name, unsigned value)
{
	auto_free char *path = state_path(gpu, name);
	FILE *file = fopen(path, "we");

	if (!file)
		refuse("cannot be written", path);
	(void)fputs(value ? "1" : "0", file);
	(void)fclose(file);
}

static void do_state(const struct words *words)
{
	scene_set_state(gpu_of(words, 1), word(words, 0), (unsigned)number(words, 2));
}

static void do_calls(const struct words *words)
{
	FILE *file = fopen(word(words, 1), "we");

	if (!file)
		refuse("cannot be written", word(words, 1));
	for (size_t i = 0; i < calls_len; i++)
		(void)fprintf(file, "%s %u\n", calls[i].function, calls[i].times);
	(void)fclose(file);
}

/* clang-format off */
static const struct {
	const char *name;
	void (*act)(const struct words *words);
} commands[] = {
	{ "driver", do_driver }, { "init", do_init },     { "wait", do_wait },
	{ "gpu", do_gpu },       { "level", do_level },   { "link", do_link },
	{ "switch", do_switch }, { "mig", do_mig },       { "unmig", do_unmig },
	{ "error", do_error },   { "hang", do_hang },     { "resume", do_resume },
	{ "lost", do_lost },     { "back", do_back },     { "remove", do_remove },
	{ "move", do_move },     { "field", do_field },   { "xid", do_xid },
	{ "event", do_event },   { "burst", do_burst },   { "calls", do_calls },
	{ "drain", do_state },   { "persistence", do_state },
};
/* clang-format on */

static void act(const struct words *words)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		if (strcmp(commands[i].name, words->items[0]) == 0) {
			commands[i].act(words);
			return;
		}
	}
	refuse("no such command", words->items[0]);
}

static void play_line(char *line)
{
	struct words words = { .len = 0 };
	char *text;

	line[strcspn(line, "#")] = '\0';
	while ((text = strsep(&line, " \t")) && words.len < WORDS_MAX) {
		if (*text)
			words.items[words.len++] = text;
	}
	if (words.len > 0)
		act(&words);
}

static void play(char *text)
{
	char *line;

	while ((line = strsep(&text, "\n")))
		play_line(line);
}

static void read_commands(void)
{
	static char data[DATAGRAM_MAX + 1];
	ssize_t n;

	while (socket_fd >= 0 && (n = recv(socket_fd, data, sizeof(data) - 1, MSG_DONTWAIT)) >= 0) {
		data[n] = '\0';
		play(data);
	}
}

static void read_scene(void)
{
	const char *folder = getenv("HOSTDEV_FAKE_NVML");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	auto_free char *path = NULL;
	auto_free char *text = NULL;

	if (is_read)
		return;
	if (!folder)
		refuse("not set", "HOSTDEV_FAKE_NVML");
	path = xasprintf("%s/scene", folder);
	if (file_read(AT_FDCWD, path, SCENE_MAX, &text, NULL, NULL) < 0)
		refuse("cannot be read", path);
	is_read = true;
	play(text);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/%d.socket", folder,
		       getpid());
	socket_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (socket_fd < 0 ||
	    bind(socket_fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		refuse(strerror(errno), address.sun_path);
}

void scene_wait(int ms)
{
	struct pollfd input = { .fd = socket_fd, .events = POLLIN };

	(void)pthread_mutex_unlock(&lock);
	(void)poll(&input, 1, ms);
	(void)pthread_mutex_lock(&lock);
	read_commands();
}

/* "nvmlDeviceGetCount_v2" is DeviceGetCount in a scene. */
static void plain_name(const char *function, char ret_name[FUNCTION_SIZE])
{
	size_t len;

	set_text(ret_name, FUNCTION_SIZE, function + strlen("nvml"));
	len = strlen(ret_name);
	if (len > 3 && strncmp(ret_name + len - 3, "_v", 2) == 0)
		ret_name[len - 3] = '\0';
}

static void count_call(const char *name)
{
	size_t i = 0;

	while (i < calls_len && strcmp(calls[i].function, name) != 0)
		i++;
	if (i == FUNCTIONS_MAX)
		return;
	if (i == calls_len)
		set_text(calls[calls_len++].function, FUNCTION_SIZE, name);
	calls[i].times++;
}

static const struct rule *rule_of(const char *name, int gpu, bool hangs)
{
	for (size_t i = rules_len; i-- > 0;) {
		const struct rule *rule = &rules[i];

		if (rule->hangs == hangs &&
		    (rule->gpu == gpu || (rule->gpu == EVERY_GPU && gpu != NO_GPU)) &&
		    (strcmp(rule->function, "*") == 0 || strcmp(rule->function, name) == 0))
			return rule;
	}
	return NULL;
}

/* For a test that waits for it. */
static void show_hang(void)
{
	auto_free char *path = xasprintf("%s/%d.hangs", getenv("HOSTDEV_FAKE_NVML"), getpid());
	FILE *file = fopen(path, "we");

	if (!file)
		refuse("cannot be written", path);
	(void)fclose(file);
}

static void hang(const char *name, int gpu)
{
	uint64_t began_ms = timefmt_now_ms();
	const struct rule *rule = rule_of(name, gpu, true);

	if (rule && rule->ms == 0)
		show_hang();
	while ((rule = rule_of(name, gpu, true)) != NULL) {
		uint64_t past_ms = timefmt_now_ms() - began_ms;

		if (rule->ms > 0 && past_ms >= rule->ms)
			return;
		scene_wait(rule->ms > 0 && rule->ms - past_ms < TICK_MS ? (int)(rule->ms - past_ms)
									: TICK_MS);
	}
}

static int code_of(const char *name, const struct fake_gpu *gpu)
{
	const struct rule *rule = rule_of(name, gpu ? number_of(gpu) : NO_GPU, false);

	if (rule && rule->code != 0)
		return rule->code;
	if (gpu && (gpu->lost || (gpu->stale != 0 && gpu->stale == scene.session)))
		return NVML_GPU_LOST;
	return NVML_SUCCESS;
}

static int enter(const char *function, const struct nvml_device *device)
{
	char name[FUNCTION_SIZE];

	plain_name(function, name);
	count_call(name);
	read_commands();
	hang(name, device ? number_of(device->gpu) : NO_GPU);
	return code_of(name, device ? device->gpu : NULL);
}

int scene_enter(const char *function, const struct nvml_device *device)
{
	int code;

	(void)pthread_mutex_lock(&lock);
	code = scene.sessions > 0 ? enter(function, device) : NVML_UNINITIALIZED;
	return code == NVML_SUCCESS ? code : scene_leave(code);
}

int scene_begin(const char *function)
{
	int code;

	(void)pthread_mutex_lock(&lock);
	read_scene();
	code = enter(function, NULL);
	if (code == NVML_SUCCESS)
		code = scene.init_code;
	if (code == NVML_SUCCESS && scene.sessions++ == 0) {
		scene.session++;
		for (unsigned i = 0; i < scene.len; i++)
			scene.gpus[i]->hidden = scene_state(scene.gpus[i], "drain");
	}
	return scene_leave(code);
}

int scene_leave(int code)
{
	(void)pthread_mutex_unlock(&lock);
	return code;
}

bool scene_next_event(struct nvml_event *ret_event)
{
	struct fake_event *entry = &scene.events[scene.events_first];

	if (scene.events_len == 0)
		return false;
	*ret_event = entry->event;
	entry->event.data++;
	if (--entry->left == 0) {
		scene.events_first = (scene.events_first + 1) % FAKE_EVENTS_MAX;
		scene.events_len--;
	}
	return true;
}

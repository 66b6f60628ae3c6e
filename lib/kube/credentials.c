#include "kube/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "kube/config.h"

enum { TOKEN_MAX = 64 * 1024, CHECK_EVERY_MS = 1000 };

/* Detects a changed file: a mounted secret is replaced through a symlink, so that inode and
 * device change; a file written in place changes its times. */
struct stamp {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec mtime;
	bool exists;
};

/* One of the three PEM files. */
struct pem {
	const struct kube_pem *from;
	char *path; /* path for the TLS library; NULL: not configured */
	int fd;     /* memfd, else -1 */
	struct stamp stamp;
};

enum { PEM_CA, PEM_CERT, PEM_KEY, PEM_COUNT };

struct credentials {
	const struct kube_config *config;
	struct pem pems[PEM_COUNT];
	char *token;
	struct stamp token_stamp;
	uint64_t checked_ms;
	struct kube_pem set_cert; /* set by credentials_set() */
	struct kube_pem set_key;
	bool provided;
	bool checked;
	bool changed;
	bool rejected;
};

static struct stamp stamp_of(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return (struct stamp){ 0 };
	return (struct stamp){
		.dev = st.st_dev,
		.ino = st.st_ino,
		.size = st.st_size,
		.mtime = st.st_mtim,
		.exists = true,
	};
}

static bool stamp_equal(const struct stamp *a, const struct stamp *b)
{
	return a->exists == b->exists && a->dev == b->dev && a->ino == b->ino &&
	       a->size == b->size && a->mtime.tv_sec == b->mtime.tv_sec &&
	       a->mtime.tv_nsec == b->mtime.tv_nsec;
}

struct credentials *credentials_new(const struct kube_config *config)
{
	struct credentials *c = xcalloc(1, sizeof(*c));

	c->config = config;
	c->pems[PEM_CA] = (struct pem){ .from = &config->ca, .fd = -1 };
	c->pems[PEM_CERT] = (struct pem){ .from = &config->cert, .fd = -1 };
	c->pems[PEM_KEY] = (struct pem){ .from = &config->key, .fd = -1 };
	return c;
}

static void drop_token(struct credentials *c)
{
	if (c->token)
		explicit_bzero(c->token, strlen(c->token));
	free(c->token);
	c->token = NULL;
}

struct credentials *credentials_free(struct credentials *c)
{
	if (!c)
		return NULL;
	for (size_t i = 0; i < PEM_COUNT; i++) {
		free(c->pems[i].path);
		auto_close_(&c->pems[i].fd);
	}
	kube_pem_done(&c->set_cert);
	kube_pem_done(&c->set_key);
	drop_token(c);
	free(c);
	return NULL;
}

bool credentials_is_token(const char *token)
{
	const char *at = token;

	while (*at > ' ' && *at <= '~')
		at++;
	return at > token && !*at;
}

/* Put inline data into a memfd, so that there is a path for it. */
static int pem_to_memory(struct pem *pem, struct err *err)
{
	auto_close int fd = -1;
	ssize_t n;

	fd = memfd_create("hostdev-pem", MFD_CLOEXEC);
	if (fd < 0)
		return err_set(err, ERR_RETRY, -errno, "memory for a certificate: %s",
			       strerror(errno));
	n = write(fd, pem->from->data, pem->from->len);
	if (n != (ssize_t)pem->from->len)
		return err_set(err, ERR_RETRY, -EIO, "memory for a certificate: %s",
			       n < 0 ? strerror(errno) : "short write");
	pem->path = xasprintf("/proc/self/fd/%d", fd);
	pem->fd = take_fd(fd);
	return 0;
}

static int pem_refresh(struct pem *pem, bool *changed, struct err *err)
{
	struct stamp stamp;
	int r = 0;

	if (!pem->path && pem->from->data)
		r = pem_to_memory(pem, err);
	else if (!pem->path)
		pem->path = xstrdup_or_null(pem->from->path);
	if (r < 0 || !pem->path)
		return r;
	stamp = stamp_of(pem->path);
	if (!stamp_equal(&stamp, &pem->stamp))
		*changed = true;
	pem->stamp = stamp;
	return 0;
}

static int read_token(const char *path, char **ret_token, struct err *err)
{
	char *token = NULL;
	size_t len;
	int r;

	r = file_read(AT_FDCWD, path, TOKEN_MAX, &token, &len, err);
	if (r < 0)
		return err_wrap(err, "token");
	while (len > 0 && strchr(" \t\r\n", token[len - 1]))
		token[--len] = '\0';
	if (strlen(token) == len && credentials_is_token(token)) {
		*ret_token = token;
		return 0;
	}
	explicit_bzero(token, len);
	free(token);
	return err_set(err, ERR_RETRY, -EINVAL, "token file '%s' does not hold a token", path);
}

/* If the file cannot be read while it is being replaced, keep the current token, which still
 * works. */
static int token_refresh(struct credentials *c, struct err *err)
{
	const char *path = c->config->token_path;
	struct stamp stamp;
	char *token = NULL;
	int r;

	if (c->provided)
		return 0;
	if (!path) {
		if (!c->token)
			c->token = xstrdup_or_null(c->config->token);
		return 0;
	}
	stamp = stamp_of(path);
	if (c->token && !c->rejected && stamp_equal(&stamp, &c->token_stamp))
		return 0;
	r = read_token(path, &token, err);
	if (!token)
		return c->token ? 0 : r;
	if (c->token && strcmp(c->token, token) != 0) {
		log_info("token reloaded", log_str("file", path));
		c->changed |= c->rejected;
	}
	drop_token(c);
	c->token = token;
	c->token_stamp = stamp;
	return 0;
}

static int refresh_files(struct credentials *c, bool *changed, struct err *err)
{
	for (size_t i = 0; i < PEM_COUNT; i++) {
		int r = pem_refresh(&c->pems[i], changed, err);

		if (r < 0)
			return r;
	}
	return token_refresh(c, err);
}

int credentials_refresh(struct credentials *c, uint64_t now_ms, struct credential_files *ret_files,
			bool *ret_changed, struct err *err)
{
	bool due = !c->checked || c->rejected || now_ms - c->checked_ms >= CHECK_EVERY_MS;
	int r;

	/* If a refresh fails after it noticed a change, the next successful one reports that
	 * change. */
	r = due ? refresh_files(c, &c->changed, err) : 0;
	if (r < 0)
		return r;
	if (due) {
		c->checked = true;
		c->checked_ms = now_ms;
		c->rejected = false;
	}
	*ret_files = (struct credential_files){
		.ca = c->pems[PEM_CA].path,
		.cert = c->pems[PEM_CERT].path,
		.key = c->pems[PEM_KEY].path,
	};
	*ret_changed = c->changed;
	c->changed = false;
	return 0;
}

const char *credentials_token(const struct credentials *c)
{
	return c->token;
}

static bool is_text(const struct kube_pem *pem, const char *text)
{
	return pem->data ? text && strcmp(pem->data, text) == 0 : !text;
}

/* Returns true if the PEM data changed. */
static bool replace_pem(struct pem *pem, struct kube_pem *to, const char *text)
{
	if (is_text(to, text))
		return false;
	kube_pem_done(to);
	if (text)
		*to = (struct kube_pem){ .data = xstrdup(text), .len = strlen(text) };
	free(pem->path);
	auto_close_(&pem->fd);
	*pem = (struct pem){ .from = to, .fd = -1 };
	return true;
}

void credentials_set(struct credentials *c, const struct kube_proof *proof)
{
	const struct kube_pem *cert = &c->config->cert;

	if (!c->token || !proof->token || strcmp(c->token, proof->token) != 0)
		c->changed = true;
	drop_token(c);
	c->token = xstrdup_or_null(proof->token);
	c->provided = true;
	c->checked = false;
	if (cert->path || cert->data)
		return;
	c->changed |= replace_pem(&c->pems[PEM_CERT], &c->set_cert, proof->cert);
	c->changed |= replace_pem(&c->pems[PEM_KEY], &c->set_key, proof->key);
}

void credentials_reject(struct credentials *c)
{
	c->rejected = true;
}

/* --- a provider of credentials --- */

bool proof_is_needed(const struct proof *proof, int64_t wall_ms)
{
	return proof->provider && (proof->number == 0 || proof->refused == proof->number ||
				   wall_ms >= proof->expires_ms);
}

bool proof_refuse(struct proof *proof, uint64_t number)
{
	bool newest_too = number < proof->refused && proof->refused == proof->number;

	if (number > proof->refused)
		proof->refused = number;
	return !newest_too;
}

bool proof_is_refused(const struct proof *proof, uint64_t number)
{
	return number > 0 && number <= proof->refused;
}

void proof_set(struct proof *proof, int64_t expires_ms)
{
	proof->number++;
	proof->expires_ms = expires_ms;
}

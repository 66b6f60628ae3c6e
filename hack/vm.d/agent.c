/*
 * The guest's first process: runs the commands that hack/vm sends.
 *
 *     agent PORT TOKEN
 *
 * One child per connection (a session) and one grandchild per command, so a command
 * that hangs does not delay others. The first process itself only accepts connections
 * and collects children that lost their parent.
 */
#define _GNU_SOURCE

#include "wire.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { GRACE_MS = 1000 }; /* from SIGTERM to SIGKILL for a command given up */

struct session {
	int connection;
	int input; /* our end of the command's stdin, -1 when closed */
	int output;
	int error;
	int pidfd;
	pid_t pid;
	char pending[WIRE_FRAME_MAX]; /* stdin that the command did not take yet */
	size_t pending_at, pending_end;
	bool input_ended;
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* --- the request ------------------------------------------------------------ */

static char **split_words(char *text, size_t length)
{
	size_t count = 0;
	char **words;

	for (size_t i = 0; i < length; i++)
		count += text[i] == '\0';
	words = calloc(count + 1, sizeof(*words));
	if (!words)
		return NULL;
	for (size_t i = 0; i < count; i++, text += strlen(text) + 1)
		words[i] = text;
	return words;
}

/* The working directory and the arguments; NULL when the peer may not or says nonsense. */
static char **read_request(int connection, const char *token)
{
	char given[WIRE_TOKEN];
	uint32_t length;
	char *text;

	if (read_all(connection, given, sizeof(given)) < 0 ||
	    memcmp(given, token, sizeof(given)) != 0)
		return NULL;
	if (read_all(connection, &length, sizeof(length)) < 0)
		return NULL;
	length = ntohl(length);
	if (length < 4 || length > WIRE_REQUEST_MAX)
		return NULL;
	text = malloc(length);
	if (!text || read_all(connection, text, length) < 0 || text[length - 1] != '\0')
		return NULL;
	return split_words(text, length);
}

/* --- the command ------------------------------------------------------------ */

static _Noreturn void run_command(char **words, const int *fds)
{
	setsid();
	signal(SIGPIPE, SIG_DFL);
	for (int i = 0; i < 3; i++)
		dup2(fds[i], i);
	close_range(3, ~0U, 0);
	if (chdir(words[0]) < 0 && chdir("/") < 0)
		_exit(126);
	execvp(words[1], words + 1);
	dprintf(2, "hack/vm exec: %s: %s\n", words[1], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static int start_command(struct session *s, char **words)
{
	int in[2], out[2], err[2];

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
		return -errno;
	s->pid = fork();
	if (s->pid < 0)
		return -errno;
	if (s->pid == 0)
		run_command(words, (int[]){ in[0], out[1], err[1] });
	close(in[0]);
	close(out[1]);
	close(err[1]);
	s->input = in[1];
	s->output = out[0];
	s->error = err[0];
	fcntl(s->input, F_SETFL, O_NONBLOCK);
	fcntl(s->output, F_SETFL, O_NONBLOCK);
	fcntl(s->error, F_SETFL, O_NONBLOCK);
	s->pidfd = (int)syscall(SYS_pidfd_open, s->pid, 0);
	return s->pidfd < 0 ? -errno : 0;
}

/* The client went away while its command runs. */
static _Noreturn void give_up(struct session *s)
{
	struct pollfd ended = { .fd = s->pidfd, .events = POLLIN };

	kill(-s->pid, SIGTERM);
	kill(-s->pid, SIGCONT);
	poll(&ended, 1, GRACE_MS);
	kill(-s->pid, SIGKILL);
	_exit(0);
}

/* --- passing bytes ---------------------------------------------------------- */

static void take_input(struct session *s)
{
	size_t length;
	int type = read_frame(s->connection, s->pending, &length);

	if (type < 0)
		give_up(s);
	if (type != FRAME_STDIN)
		return;
	s->pending_at = 0;
	s->pending_end = length;
	s->input_ended = s->input_ended || length == 0;
}

static void pass_input(struct session *s)
{
	if (s->input >= 0 && s->pending_at < s->pending_end) {
		ssize_t n =
			write(s->input, s->pending + s->pending_at, s->pending_end - s->pending_at);

		if (n > 0)
			s->pending_at += (size_t)n;
		else if (errno != EAGAIN)
			close_fd(&s->input); /* the command does not read its stdin */
	}
	if (s->input < 0)
		s->pending_at = s->pending_end;
	if (s->input_ended && s->pending_at == s->pending_end)
		close_fd(&s->input);
}

/* Sends what the pipe holds; true while there may be more at once. */
static bool pass_output(struct session *s, int *fd, enum frame_type type)
{
	char data[WIRE_FRAME_MAX];
	ssize_t n;

	if (*fd < 0)
		return false;
	n = read(*fd, data, sizeof(data));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		close_fd(fd);
		return false;
	}
	if (send_frame(s->connection, type, data, (size_t)n) < 0)
		give_up(s);
	return true;
}

static void pass_until_exit(struct session *s)
{
	for (;;) {
		bool room = s->pending_at == s->pending_end;
		struct pollfd fds[] = {
			{ .fd = s->connection,
			  .events = (short)(POLLRDHUP | (room && !s->input_ended ? POLLIN : 0)) },
			{ .fd = s->pidfd, .events = POLLIN },
			{ .fd = s->output, .events = POLLIN },
			{ .fd = s->error, .events = POLLIN },
			{ .fd = room ? -1 : s->input, .events = POLLOUT },
		};

		if (poll(fds, 5, -1) < 0 && errno != EINTR)
			return;
		if (fds[0].revents & POLLIN)
			take_input(s);
		else if (fds[0].revents)
			give_up(s);
		pass_input(s);
		if (fds[2].revents)
			pass_output(s, &s->output, FRAME_STDOUT);
		if (fds[3].revents)
			pass_output(s, &s->error, FRAME_STDERR);
		if (fds[1].revents)
			return;
	}
}

/* Programs that the command left behind may go on writing: discard their output. */
static void swallow_output(struct session *s)
{
	char data[4096];
	int fds[] = { s->output, s->error };

	for (int i = 0; i < 2; i++) {
		if (fds[i] < 0)
			continue;
		fcntl(fds[i], F_SETFL, 0);
	}
	while (fds[0] >= 0 || fds[1] >= 0) {
		struct pollfd polled[] = { { .fd = fds[0], .events = POLLIN },
					   { .fd = fds[1], .events = POLLIN } };

		poll(polled, 2, -1);
		for (int i = 0; i < 2; i++) {
			if (polled[i].revents && read(fds[i], data, sizeof(data)) <= 0)
				close_fd(&fds[i]);
		}
	}
}

static _Noreturn void serve(int connection, const char *token)
{
	static struct session s = { .input = -1, .output = -1, .error = -1, .pidfd = -1 };
	char **words = read_request(connection, token);
	uint32_t code;
	int status = 0;

	if (!words || !words[0] || !words[1])
		_exit(1);
	s.connection = connection;
	if (start_command(&s, words) < 0)
		_exit(1);
	pass_until_exit(&s);
	close_fd(&s.input);
	waitpid(s.pid, &status, 0);
	while (pass_output(&s, &s.output, FRAME_STDOUT))
		;
	while (pass_output(&s, &s.error, FRAME_STDERR))
		;
	code = htonl((uint32_t)(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)));
	send_frame(connection, FRAME_EXIT, &code, sizeof(code));
	close(connection);
	swallow_output(&s);
	_exit(0);
}

/* --- the first process ------------------------------------------------------ */

static void collect_children(int signal_number)
{
	int saved = errno;

	(void)signal_number;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	errno = saved;
}

static int listen_on(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int)) < 0 ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 128) < 0)
		return -errno;
	return fd;
}

int main(int argc, char **argv)
{
	struct sigaction on_child = { .sa_handler = collect_children,
				      .sa_flags = SA_RESTART | SA_NOCLDSTOP };
	int listener;

	if (argc != 3 || strlen(argv[2]) != WIRE_TOKEN) {
		fprintf(stderr, "usage: agent PORT TOKEN\n");
		return 2;
	}
	listener = listen_on(atoi(argv[1]));
	if (listener < 0) {
		fprintf(stderr, "agent: listen on port %s: %s\n", argv[1], strerror(-listener));
		return 1;
	}
	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGCHLD, &on_child, NULL);
	for (;;) {
		int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (connection < 0)
			continue;
		setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
		if (fork() == 0) {
			signal(SIGCHLD, SIG_DFL);
			close(listener);
			serve(connection, argv[2]);
		}
		close(connection);
	}
}

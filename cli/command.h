/*
 * command: a subcommand of kubectl-hostdev: a row in main.c's table, its flags, its help, and a
 * function.
 *
 * When the function runs, its settings have been read and its words counted. It connects with
 * command_session() when it needs the API server, appends its output to a struct str, and passes
 * that to out_flush(), which alone writes to standard output.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/options.h"
#include "cli/complete.h"
#include "cli/print/out_json.h"

struct claim_spec;
struct err;
struct lists_missing;
struct session;
struct session_settings;

enum { COMMAND_WORDS_MAX = 1000 };

/* Exit statuses. */
enum {
	COMMAND_OK = 0,
	COMMAND_FAILED = 1,  /* refused, not found, no answer  */
	COMMAND_MISUSED = 2, /* a flag or another argument is wrong */
	COMMAND_LATE = 3,    /* --timeout has passed */
	COMMAND_INTERRUPTED = 130,
};

/* The flags of all subcommands. Each subcommand's table has the rows of those that it takes. */
struct command_settings {
	char *kubeconfig;
	char *context;
	char *cluster;
	char *kube_user; /* --user */
	char *server;
	char *tls_server_name;
	char *ca;
	char *cert;
	char *key;
	char *token;
	char *as;
	char *as_uid;
	struct option_list as_groups;
	bool insecure;
	uint64_t request_timeout_ms;
	char *ns;
	bool all_namespaces; /* tree, who, top: ignore ns */

	char *output; /* of out_format_parse() */
	bool no_headers;
	char *selector; /* tree, who, top, claim */
	bool watch;     /* tree */

	uint64_t timeout_ms; /* claim, release */
	bool wait;
	bool no_wait;
	int dry_run; /* enum command_dry_run */
	bool include_group;
	bool release;                /* plan */
	bool release_without_driver; /* claim, plan */
	char *resource;              /* likewise */
	uint64_t count;
	char *node;
	bool any_node;
	char *driver;
	char *claim_user; /* --for */
	bool client;      /* version */
	bool nodes;       /* top */
	bool all;         /* top */
	uint64_t port;    /* map */
	bool open;
};

enum command_dry_run { DRY_RUN_NONE, DRY_RUN_CLIENT, DRY_RUN_SERVER };

struct command_run {
	const struct command *command;
	struct command_settings settings;
	char *const *words; /* arguments that are no flags; NULL ends them */
	size_t words_len;
	struct out out;
	struct session *session; /* of command_session() */
};

struct command {
	const char *word;
	const char *summary; /* for the list of subcommands: "Show ..." */
	const struct options_prose *prose;
	const struct option_row *rows; /* COMMAND_ROWS among them */
	size_t rows_len;
	size_t words_min;
	size_t words_max;
	const char *words;                   /* their name in errors: "DEVICE" */
	int (*run)(struct command_run *run); /* the exit status */
	enum complete_words completes;       /* how to complete its words */
	bool hidden;
	bool of_pods; /* it uses --namespace; the others print that they do not */
};

/* The command @word of @commands, whose last is NULL; NULL: there is none. */
const struct command *command_find(const struct command *const *commands, const char *word);

/* The settings of the session, borrowed from the command's. */
void command_cluster(const struct command_settings *settings, struct session_settings *ret_session);

/* The fields of a claim, likewise. */
void command_claim(const struct command_settings *settings, struct claim_spec *ret_spec);

/* The session, created by the first call. NULL: the cause has been printed; end with
 * COMMAND_FAILED. */
struct session *command_session(struct command_run *run);

/* One line on standard error: "kubectl hostdev tree: MESSAGE". Returns COMMAND_FAILED. */
int command_fail(const struct command_run *run, const struct err *err);

/* The same for a wrong command line, as command_misuse(). */
int command_misused(const struct command_run *run, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Print "kubectl hostdev tree: TEXT" on standard error, as out_say(). */
void command_say(const struct command_run *run, const char *text);

/* Print "kubectl hostdev WORD: MESSAGE" on standard error, cleaned, for a wrong command line; @word
 * may be NULL. "see --help" at the end of @message gets the command's name. Returns
 * COMMAND_MISUSED. */
int command_misuse(const char *word, const char *message);

/* Print one line on standard error, cleaned, about something that does not stop the command. */
void command_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Print one line that names those of @kinds (CLUSTER_SET()s; ~0U: all), and events, that the caller
 * may not read. Kinds that the cluster does not have are not named. */
void command_tell_missing(const struct lists_missing *missing, unsigned kinds);

/* clang-format off */
/* NOLINTBEGIN(bugprone-macro-parentheses) */
#define COMMAND_AT(member_) .offset = offsetof(struct command_settings, member_)

#define COMMAND_TEXT_ROW(name_, member_, argument_, help_) \
	{ .name = (name_), .type = OPTION_STRING, COMMAND_AT(member_), .argument = (argument_), \
	  .help = (help_), .common = true }

/* Neither completion nor the hint for a misspelt flag suggests impersonation. */
#define COMMAND_AS_ROW(name_, member_, argument_, help_) \
	{ .name = (name_), .type = OPTION_STRING, COMMAND_AT(member_), .argument = (argument_), \
	  .help = (help_), .common = true, .unsuggested = true }

/* Flags with the same meaning as in kubectl; `kubectl hostdev options` lists them. */
#define COMMAND_CLUSTER_ROWS \
	{ .name = "kubeconfig", .type = OPTION_STRING, COMMAND_AT(kubeconfig), .common = true, \
	  .argument = "FILE", .group = "Cluster", \
	  .help = "The kubeconfig to use. Without it, the files in $KUBECONFIG, else the pod's " \
		  "service account, else ~/.kube/config." }, \
	COMMAND_TEXT_ROW("context", context, "NAME", \
			 "The kubeconfig's context to use instead of its current one."), \
	COMMAND_TEXT_ROW("cluster", cluster, "NAME", \
			 "The kubeconfig's cluster to use instead of the context's."), \
	COMMAND_TEXT_ROW("user", kube_user, "NAME", \
			 "The kubeconfig's user to use instead of the context's."), \
	{ .name = "namespace", .letter = 'n', .type = OPTION_STRING, COMMAND_AT(ns), \
	  .common = true, .argument = "NAME", \
	  .help = "In tree and who: show only devices that pods or ResourceClaims of " \
		  "this namespace have. Other " \
		  "commands do not use it, because devices and claims are cluster-scoped." }, \
	{ .name = "server", .letter = 's', .type = OPTION_STRING, COMMAND_AT(server), \
	  .common = true, \
	  .argument = "URL", .help = "The address of the API server: https://HOST:PORT." }, \
	COMMAND_TEXT_ROW("token", token, "TOKEN", \
			 "Authenticate with this bearer token instead of the kubeconfig's " \
			 "credentials."), \
	COMMAND_TEXT_ROW("client-certificate", cert, "FILE", \
			 "Authenticate with this certificate instead of the kubeconfig's " \
			 "credentials."), \
	COMMAND_TEXT_ROW("client-key", key, "FILE", "The key of --client-certificate."), \
	COMMAND_TEXT_ROW("certificate-authority", ca, "FILE", \
			 "The CA of the API server's certificate."), \
	{ .name = "insecure-skip-tls-verify", .type = OPTION_BOOL, COMMAND_AT(insecure), \
	  .common = true, \
	  .help = "Skip verification of the API server's certificate (insecure)." }, \
	COMMAND_TEXT_ROW("tls-server-name", tls_server_name, "NAME", \
			 "The name to expect in the API server's certificate."), \
	COMMAND_AS_ROW("as", as, "USER", "Act as this user; requires the right to impersonate."), \
	{ .name = "as-group", .type = OPTION_LIST, COMMAND_AT(as_groups), .whole = true, \
	  .common = true, .unsuggested = true, \
	  .argument = "GROUP", .help = "Act as a member of this group; use it with --as." }, \
	COMMAND_AS_ROW("as-uid", as_uid, "UID", \
		       "Act as the user with this UID; use it with --as."), \
	{ .name = "request-timeout", .type = OPTION_DURATION, COMMAND_AT(request_timeout_ms), \
	  .common = true, \
	  .fallback = "30s", .argument = "TIME", \
	  .help = "Timeout for one request; 0 disables it." }

#define COMMAND_CLAIM_ROWS \
	{ .name = "include-group", .type = OPTION_BOOL, COMMAND_AT(include_group), \
	  .group = "Claim", \
	  .help = "Also claim the other functions of the device's IOMMU group " \
		  "(spec.includeIOMMUGroup)." }, \
	{ .name = "driver", .type = OPTION_STRING, COMMAND_AT(driver), .argument = "NAME", \
	  .help = "Bind this vfio variant driver instead of vfio-pci (spec.driver)." }, \
	{ .name = "for", .type = OPTION_STRING, COMMAND_AT(claim_user), .argument = "NAME", \
	  .help = "The owner of the claim (spec.userName); without it, you. Another user " \
		  "requires the RBAC verb manage." }, \
	{ .name = "release-without-driver", .type = OPTION_BOOL, \
	  COMMAND_AT(release_without_driver), \
	  .help = "When the claim is deleted, leave the device without a driver, so that the " \
		  "node does not read the data on it (spec.release: None)." }

/* @choices_: the formats of out.h that the command supports. */
#define COMMAND_OUTPUT_ROW(choices_) \
	{ .name = "output", .letter = 'o', .type = OPTION_STRING, COMMAND_AT(output), \
	  .choices = (choices_), .fallback = "table", .argument = "FORMAT", .group = "Output", \
	  .help = "The output format. On a terminal, table is cut or wrapped to its width; wide " \
		  "is not. jsonpath=TEMPLATE prints parts of the -o json output, as kubectl " \
		  "does: fields (also with ..), [0], [-1], [0:2], [*], [?(@.a==\"b\")] with == " \
		  "!= < <= > >=, {range}, {end} and {\"\\n\"}." }

#define COMMAND_HEADERS_ROW \
	{ .name = "no-headers", .type = OPTION_BOOL, COMMAND_AT(no_headers), \
	  .help = "Print tables without the heading line." }

/* Users are used to add it to each kubectl get. */
#define COMMAND_ALL_ROW \
	{ .name = "all-namespaces", .letter = 'A', .type = OPTION_BOOL, \
	  COMMAND_AT(all_namespaces), \
	  .help = "Show all namespaces, which is the default; overrides --namespace." }

#define COMMAND_SELECTOR_ROW(what_) \
	{ .name = "selector", .letter = 'l', .type = OPTION_STRING, COMMAND_AT(selector), \
	  .argument = "SELECTOR", .group = "Flags", \
	  .help = "Show only " what_ " with these labels, in the syntax of kubectl get -l: " \
		  "\"a=b,c!=d\"." }

/* Members of a struct command: its flags and help; its words are DEVICEs. */
#define COMMAND_LINE(prose_, rows_) \
	.prose = &(prose_), .rows = (rows_), .rows_len = ARRAY_LEN(rows_)
#define COMMAND_DEVICES(max_, completes_) \
	.words_min = 1, .words_max = (max_), .words = "DEVICE", .completes = (completes_)
/* NOLINTEND(bugprone-macro-parentheses) */
/* clang-format on */

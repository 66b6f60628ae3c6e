#include "cli/print/out_json.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/json_map.h"
#include "api/kind.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/print/jsonpath.h"
#include "kube/yaml.h"

const char *const out_formats[] = { "table", "wide", "json", "yaml", "name", "jsonpath=", NULL };
const char *const out_formats_unnamed[] = { "table", "wide", "json", "yaml", "jsonpath=", NULL };
const char *const out_formats_narrow[] = { "table", "json", "yaml", "jsonpath=", NULL };

static int take_template(const char *text, const char **ret_jsonpath, struct err *err)
{
	auto_str struct str nothing = STR_INIT;

	if (!*text)
		return err_set(err, ERR_INVALID, -EINVAL,
			       "--output: jsonpath= needs a template, such as "
			       "-o jsonpath='{.nodes[*].name}'");
	if (jsonpath_print(text, NULL, &nothing, err) < 0)
		return err_wrap(err, "--output");
	*ret_jsonpath = text;
	return 0;
}

/* Which format is the word that all commands have for it? */
static enum out_format format_of(const char *word)
{
	int format = OUT_TABLE;

	while (format < OUT_NAME && strcmp(word, out_formats[format]) != 0)
		format++;
	return (enum out_format)format;
}

int out_format_parse(const char *text, const char *const *choices, enum out_format *ret_format,
		     const char **ret_jsonpath, struct err *err)
{
	static const char jsonpath[] = "jsonpath";
	size_t len = sizeof(jsonpath) - 1;
	auto_str struct str all = STR_INIT;

	*ret_jsonpath = NULL;
	if (strncmp(text, jsonpath, len) == 0 && (!text[len] || text[len] == '=')) {
		*ret_format = OUT_JSON;
		return take_template(text + len + (text[len] == '='), ret_jsonpath, err);
	}
	for (size_t i = 0; choices[i + 1]; i++) { /* the last is jsonpath= */
		if (strcmp(text, choices[i]) == 0) {
			*ret_format = format_of(text);
			return 0;
		}
		str_addf(&all, "%s%s", i ? ", " : "", choices[i]);
	}
	return err_set(err, ERR_INVALID, -EINVAL,
		       "--output: '%.40s' is not %s or jsonpath=TEMPLATE", text, str_cstr(&all));
}

void out_kind_name(struct str *to, const struct api_kind *kind, const char *name)
{
	for (const char *c = kind->kind; *c; c++)
		str_add_char(to, (char)tolower((unsigned char)*c));
	if (kind->group[0])
		str_addf(to, ".%s", kind->group);
	str_add_char(to, '/');
	out_text(to, name);
}

void out_set_text(json_t *object, const char *key, const char *text)
{
	if (text && *text)
		json_object_set_new(object, key, json_string(text));
}

void out_json(struct out *out, json_t *value)
{
	auto_free char *text = NULL;

	if (out->jsonpath) {
		/* out_format_parse() has checked the template. */
		(void)jsonpath_print(out->jsonpath, value, &out->text, NULL);
		return;
	}
	if (out->format == OUT_YAML) {
		yaml_write(value, &out->text);
		return;
	}
	text = json_dumps(value, JSON_INDENT(4) | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
	str_add(&out->text, text ? text : "null");
	str_add_char(&out->text, '\n');
}

bool out_is_json(const struct out *out)
{
	return out->format == OUT_JSON || out->format == OUT_YAML;
}

void out_json_list(struct out *out, json_t *items)
{
	auto_json json_t *list =
		json_pack("{ss,ss,so}", "apiVersion", "v1", "kind", "List", "items", items);

	out_json(out, list);
}

/* End as a program without our SIGPIPE handler does. We ignore the signal because of the
 * connection to the API server. */
static void end_by_pipe(void)
{
	(void)signal(SIGPIPE, SIG_DFL);
	(void)raise(SIGPIPE);
	_exit(128 + SIGPIPE);
}

void out_say(const char *text)
{
	const struct out terminal = { .format = OUT_TABLE,
				      .width = out_terminal_width(STDERR_FILENO) };
	auto_str struct str lines = STR_INIT;
	const char *line = text;

	while (*line) {
		size_t len = strcspn(line, "\n");
		auto_free char *copy = xstrndup(line, len);

		out_wrap(&terminal, &lines, copy, 0, strspn(line, " ") + 2);
		str_add_char(&lines, '\n');
		line += len + (line[len] == '\n');
	}
	(void)fputs(str_cstr(&lines), stderr);
}

bool out_flush(struct out *out)
{
	int r = file_write_all(STDOUT_FILENO, str_cstr(&out->text), out->text.len);

	str_clear(&out->text);
	if (r == -EPIPE)
		end_by_pipe();
	if (r < 0)
		(void)fprintf(stderr, "kubectl hostdev: write to standard output: %s\n",
			      strerror(-r));
	return r == 0;
}

#include "unit/suite.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "cli/print/jsonpath.h"
#include "unit/cli/made.h"

static const char document[] =
	"{'name':'vm1','count':2,'free':true,'none':null,'a.b':'dotted','text':'a\\u001b[2Jb',"
	"'devices':[{'name':'x','state':'Claimable','group':1,'pods':[{'pod':'p'},{'pod':'q'}]},"
	"{'name':'y','state':'InUse','group':2},{'name':'z','state':'Claimable','pods':[]}]}";

static struct path_case {
	const char *name;
	const char *template;
	const char *text;
} paths[] = {
	{ "a field", "{.name}", "vm1" },
	{ "from the root, too", "{$.name} {@.name}", "vm1 vm1" },
	{ "a number, a truth and nothing", "{.count},{.free},{.none}", "2,true," },
	{ "a field in brackets", "{['name']}", "vm1" },
	{ "a name with a dot", "{.a\\.b} {['a.b']}", "dotted dotted" },
	{ "an index", "{.devices[1].name}", "y" },
	{ "an index from the end", "{.devices[-1].name}{.devices[-3].name}", "zx" },
	{ "all of them", "{.devices[*].name}", "x y z" },
	{ "and of these", "{.devices[*].pods[*].pod}", "p q" },
	{ "all fields", "{.devices[0].pods[0].*}", "p" },
	{ "a filter", "{.devices[?(@.state==\"Claimable\")].name}", "x z" },
	{ "its opposite, with blanks", "{.devices[?( @.state != 'Claimable' )].name}", "y" },
	{ "a filter by number", "{.devices[?(@.group==2)].name}", "y" },
	{ "a filter by what is there", "{.devices[?(@.group)].name}", "x y" },
	{ "filters by order", "{.devices[?(@.group<2)].name}{.devices[?(@.group>1)].name}", "xy" },
	{ "with the limit", "{.devices[?(@.group<=2)].name}/{.devices[?(@.group>=2)].name}",
	  "x y/y" },
	{ "texts have an order, too", "{.devices[?(@.name>='y')].name}", "y z" },
	{ "but not with numbers", "{.devices[?(@.name>1)].name}", "" },
	{ "a slice", "{.devices[0:2].name}", "x y" },
	{ "a slice from and up to the end",
	  "{.devices[1:].name}/{.devices[:1].name}/{.devices[-2:].name}", "y z/x/y z" },
	{ "a slice without the last one",
	  "{.devices[:-1].name}/{.devices[5:].name}/{.devices[:9].name}", "x y//x y z" },
	{ "several of a list", "{.devices[0,2].name}", "x z" },
	{ "several fields", "{.devices[0]['name', 'state']}", "x Claimable" },
	{ "fields at any depth", "{..pod}", "p q" },
	{ "and those of the top first", "{..name}", "vm1 x y z" },
	{ "and from a place", "{.devices[0]..pod}{.devices[1]..pod}", "p q" },
	{ "objects are JSON", "{.devices[0].pods}", "[{\"pod\":\"p\"},{\"pod\":\"q\"}]" },
	{ "the whole", "{.devices[0].pods[0]}{.nothing}", "{\"pod\":\"p\"}" },
	{ "what is not there is nothing", "<{.nothing.at.all}{.devices[9].name}{.name[0]}>", "<>" },
	{ "text between", "a {.name}\n b", "a vm1\n b" },
	{ "text in quotes", "{\"\\t\"}{.name}{'\\n'}", "\tvm1\n" },
	{ "a range", "{range .devices[*]}{.name}={.state}{\"\\n\"}{end}!",
	  "x=Claimable\ny=InUse\nz=Claimable\n!" },
	{ "a range in a range",
	  "{range .devices[*]}{.name}:{range .pods[*]}{.pod},{$.count};{end}|{end}",
	  "x:p,2;q,2;|y:|z:|" },
	{ "a range of nothing", "{range .nothing[*]}{.name}{end}.", "." },
	{ "text of the API is cleaned", "{.text}", "a\\x1b[2Jb" },
	{ "nothing at all", "", "" },
};

static struct wrong_case {
	const char *name;
	const char *template;
	const char *error;
} wrongs[] = {
	{ "no brace at the end", "{.name", "jsonpath: } is missing at the end of the template" },
	{ "no bracket at the end", "{.devices[0}", "jsonpath: ] is missing at '}'" },
	{ "nothing after a bracket", "{.devices[0",
	  "jsonpath: ] is missing at the end of the template" },
	{ "a slice with a step", "{.devices[0:2:1]}",
	  "jsonpath: ] is missing (a slice has no step) at ':1]}'" },
	{ "two conditions", "{.devices[?(@.a==1 && @.b==2)]}",
	  "jsonpath: a filter has one of == != < <= > >=, and ends with ) at '&& @.b==2)]}'" },
	{ "a regular expression", "{.devices[?(@.a=~'b')]}",
	  "jsonpath: a filter has one of == != < <= > >=, and ends with ) at '=~'b')]}'" },
	{ "no number in a slice", "{.devices[:x]}", "jsonpath: ] is missing at 'x]}'" },
	{ "nothing after a comma", "{.devices[0,]}",
	  "jsonpath: in brackets stands a number, *, a name in quotes or ?(...) at ']}'" },
	{ "no number", "{.devices[x]}",
	  "jsonpath: in brackets stands a number, *, a name in quotes or ?(...) at 'x]}'" },
	{ "no path", "{name}", "jsonpath: a path begins with . or [ at 'name}'" },
	{ "a quote that is open", "{\"a}",
	  "jsonpath: a quote is not closed at the end of the template" },
	{ "another operator", "{.devices[?(@.group=1)]}",
	  "jsonpath: a filter has one of == != < <= > >=, and ends with ) at '=1)]}'" },
	{ "no value", "{.devices[?(@.group==)]}",
	  "jsonpath: a text in quotes, a number, true or false is missing at ')]}'" },
	{ "a filter of nothing", "{.devices[?(1==1)]}",
	  "jsonpath: a filter begins with @ at '1==1)]}'" },
	{ "a range that is open", "{range .devices[*]}{.name}",
	  "jsonpath: {end} is missing at the end of the template" },
	{ "an end of nothing", "{end}", "jsonpath: there is no range to end at 'end}'" },
};

static json_t *read_document(void)
{
	auto_free char *text = made_json(document);
	json_t *json = NULL;

	assert_int_equal(json_map_load(text, strlen(text), &json, NULL), 0);
	return json;
}

static void template_makes_text(void **state)
{
	const struct path_case *c = *state;
	auto_json json_t *json = read_document();
	auto_str struct str text = STR_INIT;
	struct err err = { 0 };

	assert_int_equal(jsonpath_print(c->template, json, &text, &err), 0);
	assert_string_equal(str_cstr(&text), c->text);
	/* Without a document it is read all the same. */
	assert_int_equal(jsonpath_print(c->template, NULL, &text, &err), 0);
}

static void what_is_wrong_is_said(void **state)
{
	const struct wrong_case *c = *state;
	auto_json json_t *json = read_document();
	auto_str struct str text = STR_INIT;
	struct err err = { 0 };

	assert_int_equal(jsonpath_print(c->template, json, &text, &err), -EINVAL);
	assert_string_equal(err.msg, c->error);
	err = (struct err){ 0 };
	assert_int_equal(jsonpath_print(c->template, NULL, &text, &err), -EINVAL);
	assert_string_equal(err.msg, c->error);
}

/* Whatever is cut off or changed, it ends, and reads nothing beyond the template (the sanitizers
 * see that). */
static void any_piece_of_a_template_is_read_to_an_end(void **state)
{
	static const char whole[] =
		"a{range .devices[?(@.state==\"Cl\\\"aim\")]['x'][-1][*].*}{\"\\n\"}{$.a\\.b}{end}";
	auto_json json_t *json = read_document();

	for (size_t from = 0; from < sizeof(whole); from++) {
		for (size_t len = 0; from + len < sizeof(whole); len++) {
			auto_free char *piece = xstrndup(whole + from, len);
			auto_str struct str text = STR_INIT;
			struct err err = { 0 };

			(void)jsonpath_print(piece, json, &text, &err);
		}
	}
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, paths, template_makes_text);
	suite_rows(&suite, wrongs, what_is_wrong_is_said);
	suite_add(&suite, "any piece of a template is read to an end",
		  any_piece_of_a_template_is_read_to_an_end, NULL);
	return suite_run(&suite, "jsonpath");
}

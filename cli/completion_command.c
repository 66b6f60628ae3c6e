#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/commands.h"

static const char bash[] =
	"# bash completion of kubectl-hostdev: source <(kubectl hostdev completion bash)\n"
	"#\n"
	"# `kubectl hostdev` is completed by kubectl's own script, with the program\n"
	"# kubectl_complete-hostdev that is installed beside kubectl-hostdev.\n"
	"_kubectl_hostdev()\n"
	"{\n"
	"\tlocal line words before=''\n"
	"\tCOMPREPLY=()\n"
	"\t# bash parts words at =, and puts back what is behind it.\n"
	"\tread -ra words <<<\"${COMP_LINE:0:COMP_POINT}x\"\n"
	"\twords[-1]=${words[-1]%x}\n"
	"\tif [[ ${words[-1]} == *=* && $COMP_WORDBREAKS == *=* ]]; then\n"
	"\t\tbefore=${words[-1]%\"${words[-1]##*=}\"}\n"
	"\tfi\n"
	"\twhile IFS= read -r line; do\n"
	"\t\tcase $line in\n"
	"\t\t:0) compopt -o default ;;\n"
	"\t\t:*) ;;\n"
	"\t\t*) line=${line%%$'\\t'*} && COMPREPLY+=(\"${line#\"$before\"}\") ;;\n"
	"\t\tesac\n"
	"\tdone < <(kubectl-hostdev __complete \"${words[@]:1}\" 2>/dev/null)\n"
	"}\n"
	"complete -F _kubectl_hostdev kubectl-hostdev\n";

static const char zsh[] =
	"#compdef kubectl-hostdev\n"
	"# zsh completion of kubectl-hostdev: source <(kubectl hostdev completion zsh)\n"
	"#\n"
	"# `kubectl hostdev` is completed by kubectl's own script, with the program\n"
	"# kubectl_complete-hostdev that is installed beside kubectl-hostdev.\n"
	"_kubectl_hostdev()\n"
	"{\n"
	"\tlocal line files\n"
	"\tlocal -a found\n"
	"\twhile IFS= read -r line; do\n"
	"\t\tcase $line in\n"
	"\t\t:0) files=1 ;;\n"
	"\t\t:*) ;;\n"
	"\t\t*) found+=(\"${line/$'\\t'/:}\") ;;\n"
	"\t\tesac\n"
	"\tdone < <(kubectl-hostdev __complete \"${(@)words[2,CURRENT]}\" 2>/dev/null)\n"
	"\tif (( ${#found} )); then\n"
	"\t\t_describe 'kubectl hostdev' found\n"
	"\telif [[ -n $files ]]; then\n"
	"\t\t_files\n"
	"\tfi\n"
	"}\n"
	"compdef _kubectl_hostdev kubectl-hostdev\n";

static int run_completion(struct command_run *run)
{
	if (strcmp(run->words[0], "bash") == 0) {
		str_add(&run->out.text, bash);
	} else if (strcmp(run->words[0], "zsh") == 0) {
		str_add(&run->out.text, zsh);
	} else {
		return command_misused(run, "'%.40s' is not bash or zsh", run->words[0]);
	}
	return out_flush(&run->out) ? COMMAND_OK : COMMAND_FAILED;
}

static const struct options_prose prose = {
	.program = "kubectl hostdev completion",
	.summary = "prints a shell's completion script",
	.synopsis = "kubectl hostdev completion bash|zsh",
	.description =
		"Prints the script with which bash or zsh completes commands and flags of "
		"kubectl-hostdev and, from the cluster, the names of nodes and devices.\n"
		"\n"
		"`kubectl hostdev` needs no script of its own: kubectl's completion runs the "
		"program kubectl_complete-hostdev, which is installed beside kubectl-hostdev.",
	.examples = " source <(kubectl hostdev completion bash)",
};

static const struct option_row rows[] = { COMMAND_CLUSTER_ROWS };

const struct command completion_command = {
	.word = "completion",
	.summary = "Print a shell's completion script: bash or zsh",
	COMMAND_LINE(prose, rows),
	.words_min = 1,
	.words_max = 1,
	.words = "bash or zsh",
	.completes = COMPLETE_SHELLS,
	.run = run_completion,
};

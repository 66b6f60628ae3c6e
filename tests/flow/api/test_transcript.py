"""What counts as printed, of blocks that are run, and as a command: a comparison that could not fail would be none."""

import pytest

from shell_words import NotRead, simple_commands
from transcript import Shell, commands, matches

CASES = [
    ("the same lines", ["a", "b"], ["a", "b"], True),
    ("another line", ["a", "b"], ["a", "c"], False),
    ("a line too many", ["a"], ["a", "b"], False),
    ("a line too few", ["a", "b"], ["a"], False),
    ("another order", ["a", "b"], ["b", "a"], False),
    ("other white space", ["a   b"], ["a b  "], True),
    ("empty lines", ["a"], ["", "a", ""], True),
    ("lines left out", ["a", "...", "z"], ["a", "b", "c", "z"], True),
    ("no lines to leave out", ["a", "...", "z"], ["a", "z"], True),
    ("lines left out, and the next is missing", ["a", "...", "z"], ["a", "b"], False),
    ("a refusal is not left out", ["...", "c released"], ["webhook claims.hostdev.io denied the request: a pod has it", "c released"], False),
    ("nor an error", ["...", "z"], ["a", "Error from server (Conflict): x", "z"], False),
    ("nor one behind other lines", ["a", "..."], ["a", "b", "the webhook denied it"], False),
    ("one that is shown", ["...", "the webhook denied ...", "..."], ["a", "the webhook denied it", "z"], True),
    ("text left out", ["x ... z"], ["x y y z"], True),
    ("text left out, and the rest differs", ["x ... z"], ["x y"], False),
    ("another age", ["NIC 16s"], ["NIC 5m3s"], True),
    ("what is no age", ["8086:10d3"], ["8086:10d4"], False),
    ("characters of patterns", ["a.c (1)*"], ["abc (1)*"], False),
]


@pytest.mark.parametrize("wanted, seen, same", [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_lines_are_compared(wanted, seen, same):
    assert matches(wanted, seen) == same


PAGE = """# A page

```console api
$ echo one
one
$ cat <<'END'
$ is no command here
END
is no command here
$ echo "two
lines" && \\
  false
Error from server: ...
```

```console vm
$ echo elsewhere
```

1. In a list

   ```console list
   $ cat <<'END'
     moved in
   END
     moved in
   ```
"""


@pytest.fixture
def page(tmp_path):
    file = tmp_path / "page.md"
    file.write_text(PAGE)
    return file


def test_commands_are_found_with_what_they_print(page):
    found = commands(page, "api")
    assert [(c.line, c.text) for c in found] == [
        (4, "echo one"), (6, "cat <<'END'\n$ is no command here\nEND"), (10, 'echo "two\nlines" && \\\n  false')]
    assert [c.output for c in found][:1] == [["one"]]


def test_commands_are_run_with_what_stands_for_the_text(page, tmp_path):
    shell = Shell(tmp_path, "/nowhere", "/nowhere", {"one": "1"})
    assert shell.run(commands(page, "api")[0]) == "1\n"
    with pytest.raises(AssertionError, match="page.md:10"):
        shell.run(commands(page, "api")[2])


def test_what_looks_is_repeated_only_where_that_is_said(page, tmp_path):
    """kubectl prints what is written from the second time on."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/kubectl"
    program.write_text("#!/bin/sh\n[ -e seen ] && echo ready\ntouch seen\n")
    program.chmod(0o755)
    page.write_text("```console api\n$ kubectl get pods\nready\n```\n")
    (command,) = commands(page, "api")
    with pytest.raises(AssertionError, match="page.md:2"):
        Shell(tmp_path, tmp_path / "bin", "/nowhere").run(command)
    (tmp_path / "seen").unlink()
    assert Shell(tmp_path, tmp_path / "bin", "/nowhere", repeat=20).run(command) == "ready\n"


def test_blocks_of_lists_are_read_without_their_margin(page, tmp_path):
    (command,) = commands(page, "list")
    assert (command.text, command.output) == ("cat <<'END'\n  moved in\nEND", ["  moved in"])
    page.write_text("   ```console list\n   $ cat <<END\n x\n   END\n   ```\n")
    with pytest.raises(AssertionError, match="moved in less"):
        commands(page, "list")


READ = [
    ("words and quotes", """a 'b c' "d 'e' $f" g\\ h""", [["a", "b c", "d 'e' $f", "g h"]]),
    ("lists and pipes", "a 1 && b 2 || c; d | e &", [["a", "1"], ["b", "2"], ["c"], ["d"], ["e"]]),
    ("lines", "a \\\n  b\nc # d\n# e\nf#g", [["a", "b"], ["c"], ["f#g"]]),
    ("documents", "a <<'END' | b\nno command\nEND\nc", [["a"], ["b"], ["c"]]),
    ("redirections", "a >b 2>&1 <c <<< 'd e' f", [["a", "f"]]),
    ("substitutions", 'a "$(b "$(c)")" <(d) ${e:-f}', [["c"], ["b", "$(…)"], ["d"], ["a", "$(…)", "$(…)", "${e:-f}"]]),
    ("loops", "for a in $(b); do c $a; done | d", [["b"], ["c", "$a"], ["d"]]),
    ("conditions", "if ! a; then b; else { c; }; fi; [ -e d ] || e", [["a"], ["b"], ["c"], ["[", "-e", "d", "]"], ["e"]]),
    ("variables", "a=1 b c=2; d=$(e)", [["b", "c=2"], ["e"]]),
]


@pytest.mark.parametrize("text, words", [case[1:] for case in READ], ids=[case[0] for case in READ])
def test_programs_are_found_in_commands(text, words):
    assert [one.words for one in simple_commands(text) if one.words] == words


@pytest.mark.parametrize("text", ["a $(b", 'a "b', "a <<END\nb\n", "a `b`", "case a in b) c;; esac", "a $((1))", "a >"])
def test_what_is_not_read_is_an_error(text):
    with pytest.raises(NotRead):
        simple_commands(text)

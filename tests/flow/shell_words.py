"""Reads shell commands without running them: which programs they would call, with which words.

As much of the shell as documents need: quotes, lists, pipes, loops, documents, redirections, substitutions. What is
read wrongly would be a command that nobody checks, so whatever is not known here is an error.
"""

import re
from dataclasses import dataclass, field

OPERATORS = ("<<<", "&&", "||", ";;", "<<", ">>", "<&", ">&", "&>", ";", "|", "&", "(", ")", "<", ">", "\n")
REDIRECTIONS = {"<<<", "<<", ">>", "<&", ">&", "&>", "<", ">"}
KEYWORDS = {"do", "done", "then", "else", "elif", "fi", "if", "while", "until", "!", "{", "}"}  # before a command
NAME = r"[A-Za-z_]\w*"


class NotRead(Exception):
    """The shell may know what it means; this does not."""


@dataclass
class Simple:
    """Words without their quotes; what stands for a value, as it is written: $node, ${x}, $(…)."""

    words: list = field(default_factory=list)
    sets: list = field(default_factory=list)  # of variables: NAME=VALUE
    reads: list = field(default_factory=list)
    writes: list = field(default_factory=list)


class _Reader:
    def __init__(self, text):
        self.text, self.at, self.found = text, 0, []
        self.current, self.word, self.redirection, self.documents = Simple(), None, None, []

    def peek(self, length=1):
        return self.text[self.at:self.at + length]

    def read(self, end=None):
        """Up to the end of the text, or behind the bracket that ends a substitution."""
        while self.at < len(self.text):
            char = self.peek()
            if char == end:
                self.at += 1
                self.end_command()
                return self.found
            operator = next((one for one in OPERATORS if self.peek(len(one)) == one), None)
            if self.peek(2) == "\\\n" and self.word is None:
                self.at += 2
            elif char in " \t":
                self.end_word()
                self.at += 1
            elif char == "#" and self.word is None:
                self.at = (self.text + "\n").index("\n", self.at)
            elif operator and not (char in "<>" and self.text[self.at + 1:self.at + 2] == "("):
                self.operator(operator)
            else:
                self.word = (self.word or "") + self.piece()
        if end:
            raise NotRead(f"no {end} ends a substitution")
        self.end_command()
        return self.found

    def piece(self):
        """The next part of a word."""
        char = self.peek()
        self.at += 1
        if char == "\\":
            self.at += 1
            return self.text[self.at - 1].replace("\n", "")
        if char == "'":
            return self.until("'")
        if char == '"':
            return self.double_quoted()
        if self.text[self.at - 1:self.at + 1] in ("$(", "<(", ">("):
            return self.substitution()
        if char == "$" and self.peek() == "{":
            return "$" + self.until("}") + "}"
        if char == "`":
            raise NotRead("write $(…) for backticks")
        return char

    def until(self, end):
        begin, self.at = self.at, self.text.index(end, self.at) + 1
        return self.text[begin:self.at - 1]

    def double_quoted(self):
        text = ""
        while self.peek() != '"':
            if self.at >= len(self.text):
                raise NotRead("a quote has no end")
            if self.peek() == "\\" and self.text[self.at + 1] not in '$`"\\\n' or self.peek() in "'<>":
                text += self.peek()
                self.at += 1
            else:
                text += self.piece()
        self.at += 1
        return text

    def substitution(self):
        if self.peek(2) == "((":
            raise NotRead("arithmetic")
        inner = _Reader(self.text)
        inner.at = self.at + 1
        self.found += inner.read(")")
        self.at = inner.at
        return "$(…)"

    def operator(self, operator):
        if operator[0] in "<>" and re.fullmatch(r"\d", self.word or ""):
            self.word = None  # the number of a descriptor
        self.end_word()
        self.at += len(operator)
        if operator in REDIRECTIONS:
            self.redirection = operator
            return
        self.end_command()
        if operator == "\n":
            for end in self.documents:
                body = re.compile(rf"(?:.*\n)*?{re.escape(end)}(?:\n|$)").match(self.text, self.at)
                if not body:
                    raise NotRead(f"no line {end} ends a document")
                self.at = body.end()
            self.documents = []

    def end_word(self):
        word, self.word = self.word, None
        if word is None:
            return
        current, redirection = self.current, self.redirection
        self.redirection = None
        if redirection == "<<":
            self.documents.append(word)
        elif redirection == "<":
            current.reads.append(word)
        elif redirection in (">", ">>", "&>"):
            current.writes.append(word)
        elif redirection:
            return
        elif not current.words and word in KEYWORDS:
            return
        elif not current.words and re.match(rf"{NAME}=", word):
            current.sets.append(word)
        else:
            current.words.append(word)

    def end_command(self):
        self.end_word()
        if self.redirection:
            raise NotRead(f"{self.redirection} leads nowhere")
        current, self.current = self.current, Simple()
        if current.words[:1] == ["for"]:
            return
        if current.words[:1] in (["case"], ["select"], ["function"]):
            raise NotRead(f"the shell's word {current.words[0]}")
        if current.words or current.sets or current.reads or current.writes:
            self.found.append(current)


def simple_commands(text):
    """All simple commands of the text, those of substitutions and loops too, as Simple."""
    return _Reader(text).read()

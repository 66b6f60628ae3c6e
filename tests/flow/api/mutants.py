"""Rules of alerts, each made wrong in one place. A test of alerts that passes with one of them does not see that place."""

import re

MATCHER = re.compile(r'(\w+)(=~|!~|!=|=)("[^"]*")(, ?)?')
OPPOSITE = {"=": "!=", "!=": "=", "=~": "!~", "!~": "=~"}
COMPARISONS = {">": (">=", "<"), "<": ("<=", ">"), "==": ("!=",)}
SECONDS = {"m": 60, "h": 3600}
# A window, a comparison or a number, where they are not in a string.
TOKEN = re.compile(r'"[^"]*"|\[(?P<window>\d+[mh])\]|(?P<compare>==|[<>])|(?<![\w.])(?P<number>\d+(?:\.\d+)?)(?![\w.])')


def spliced(text, match, other, group=0):
    return text[:match.start(group)] + str(other) + text[match.end(group):]


def numbers(text):
    """Other numbers: half as many again, half, and one more and less of small ones."""
    number = float(text)
    others = {number * 1.5, number / 2} | ({number + 1, number - 1} if number == int(number) <= 10 else set())
    return sorted(f"{other:g}" for other in others - {number})


def windows(text):
    """One half as long, and one twice as long."""
    seconds = int(text[:-1]) * SECONDS[text[-1]]
    return f"{seconds // 2}s", f"{2 * seconds}s"


def alternatives(value):
    """A regular expression without one of its alternatives, or without an optional part."""
    for part in (r'[^|()"]+\|', r'\|[^|()"]+(?=[)"])', r"\([^()]*\)\?"):
        for found in re.finditer(part, value):
            yield spliced(value, found, "")


OTHERS = {"window": windows, "compare": COMPARISONS.get, "number": numbers}


def expressions(text):
    """(what is wrong, expression) of each that differs in one place."""
    for found in MATCHER.finditer(text):
        name, operator, value, _ = found.groups()
        yield f"without {found[0]}", spliced(text, found, "")
        yield f"{name}{OPPOSITE[operator]}{value}", spliced(text, found, OPPOSITE[operator], 2)
        for other in alternatives(value) if "~" in operator else ():
            yield f"{name}{operator}{other}", spliced(text, found, other, 3)
    for found in TOKEN.finditer(text):
        part = found.lastgroup
        for other in OTHERS[part](found[part]) if part else ():
            yield f"{found[0]} at {found.start()} becomes {other}", spliced(text, found, other, part)


def mutants(rule):
    """[(what is wrong, rule)]"""
    made = [(what, rule | {"expr": other}) for what, other in expressions(rule["expr"])]
    minutes = int(rule.get("for", "0m").removesuffix("m"))
    for other in (0, 2 * minutes) if minutes else (5,):
        made.append((f"for: {other}m", rule | {"for": f"{other}m"}))
    return made

"""How the benchmarks print: one figure a line, its goal behind it."""


def heading(text):
    print(f"\n{text}", flush=True)


def figure(what, value, goal=""):
    print(f"  {what:<58} {value:>16}   {goal}", flush=True)


def quantile(values, share):
    """The value below which this share of the values lies; the largest for 1."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

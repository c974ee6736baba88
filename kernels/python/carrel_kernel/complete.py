"""Completion of names and attributes."""

import rlcompleter

MAX_WORDS = 200


def matches(code, cursor, namespace):
    """(start, end, words) for the name that ends at the byte `cursor`."""
    before = code[:cursor].decode("utf-8", "ignore")
    length = len(before)
    begin = length
    while begin and (before[begin - 1].isalnum() or before[begin - 1] in "_."):
        begin -= 1
    word = before[begin:]
    completer = rlcompleter.Completer(namespace)
    found = completer.attr_matches(word) if "." in word else completer.global_matches(word)
    stem = word.rpartition(".")[0]
    cut = len(stem) + 1 if "." in word else 0
    # rlcompleter appends "(" to what can be called and " " or ":" to keywords; the caller wants the name.
    words = sorted({match.rstrip("( :")[cut:] for match in found if match})[:MAX_WORDS]
    start = len(before[: begin + cut].encode("utf-8"))
    return start, cursor, words

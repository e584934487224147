"""Atomic groups and possessive quantifiers, written so that Python 3.11.2 matches them as later versions do."""

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlvr.verifiers._atomic import portable

PATTERNS = [
    r"(?:ab?|a)*+c",
    r"(?>a|ab)c",
    r"(?:x+|x)++y",
    r"(?P<n>(?:[ab](?!c)|c)*+)d?",
    r"a{1,2}+a",
    r"(?:(?:a|ab)*+b|[)\]]?+c)+",
    r"(?<=a)b*+\)?",
    r"a+?b*c{2}",
]


@pytest.mark.skipif(sys.version_info < (3, 11, 5), reason="its own atomic groups match wrongly, which this is for")
@pytest.mark.parametrize("pattern", PATTERNS)
@given(st.text(alphabet="abcdxy)", max_size=12))
def test_it_matches_as_re_does_where_re_is_right(pattern, text):
    ours, theirs = re.compile(portable(pattern)), re.compile(pattern)
    assert [m.span() for m in ours.finditer(text)] == [m.span() for m in theirs.finditer(text)]


@pytest.mark.parametrize(
    ("pattern", "text", "end"),
    [
        (r"(?:ab?c?)*+d", "abcabd", 6),
        (r"(?>a|ab)c", "abc", None),
        (r"(?:ab?)*+b", "abab", None),
        (r"a++a", "aaa", None),
    ],
)
def test_by_hand_in_every_version(pattern, text, end):
    found = re.match(portable(pattern), text)
    assert (found and found.end()) == end


def test_a_pattern_without_them_stays_as_it_is():
    for pattern in (r"(?:a|b)*c+?[*+)]{2,3}\)\*", r"(?P<x>\d+)(?=y)(?<!z)"):
        assert portable(pattern) == pattern

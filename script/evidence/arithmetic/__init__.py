# SPDX-License-Identifier: Apache-2.0
"""Decides claims by arithmetic on the papers' own figures and by exact counts.

Each claim that is decided here has a function that is named after the claim's id. The function takes the paper's printed
figures and returns a Finding. A claim of several parts agrees only if every part agrees. If a claim can be read in several
ways, the function uses the reading that is best for the paper, and the Finding names this reading.
"""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Finding:
    agrees: bool
    text: str


TEXT_AND_TABLE = "Text and table agree."


def decide(paper, claim, printed):
    """Returns the Finding of a claim, or None if no function decides it."""
    from arithmetic import paper000, paper001, paper002, paper003, paper004
    papers = {"000": paper000, "001": paper001, "002": paper002, "003": paper003, "004": paper004}
    function = getattr(papers[paper], claim.lower(), None)
    return function(printed) if function else None

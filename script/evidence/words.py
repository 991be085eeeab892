# SPDX-License-Identifier: Apache-2.0
"""The words that are allowed for each kind of evidence, and the conversion of findings to words."""
import re

WORDS = {
    "arithmetic": ("consistent", "contradicted by its own table"),
    "outputs": ("confirmed", "contradicted"),
    "run": ("reproduced", "refuted", "equivalent within", "undecided"),
    "reduced": ("holds here", "does not hold here", "undecided here"),
    "none": ("none",),
}
TITLES = {
    "arithmetic": "arithmetic on print, exact counts",
    "outputs": "the authors' stored outputs and code",
    "run": "same model, data and length",
    "reduced": "shorter, smaller or other data",
    "none": "none",
}
NOT_YET, OUT_OF_REACH = "none: not yet run", "none: out of reach"


def allowed(evidence, word):
    """Returns True if the word is allowed for this kind of evidence. For runs, the word "undecided" must be followed
    by n, the number of pairs that a decision needs."""
    if evidence not in WORDS:
        return False
    if evidence == "run" and word.startswith("equivalent"):
        return bool(re.fullmatch(r"equivalent within [\d.e-]+", word))
    if evidence == "run" and word.startswith("undecided"):
        return bool(re.fullmatch(r"undecided, n needed: .+|undecided, n needed \d+", word))
    return word in WORDS[evidence] or bool(re.fullmatch(r"undecided here, n needed.*", word)) and evidence == "reduced"


def of_finding(evidence, agrees):
    return WORDS[evidence][0 if agrees else 1]


def of_verdicts(verdicts):
    """Returns the word of a claim whose rules all have verdicts: the weakest word among the verdicts."""
    words = [verdict.word for verdict in verdicts]
    for start in ("refuted", "does not hold here", "undecided", "equivalent"):
        for word in words:
            if word.startswith(start):
                return word
    return words[0]


def counted(claim):
    """Returns the group in which a claim is counted: the claim's word without the numbers that may follow it. A claim
    without evidence is counted as NOT_YET or OUT_OF_REACH."""
    if claim.evidence == "none":
        return NOT_YET if claim.missing.startswith("not yet run") else OUT_OF_REACH
    return next(word for word in WORDS[claim.evidence] if claim.word.startswith(word))

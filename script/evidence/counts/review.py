# SPDX-License-Identifier: Apache-2.0
"""FLOPs, bytes and intensity of the operators of a ViT encoder (paper 003, Tables 3 to 5): printed and derived values.

Formulas are text in b (batch), N (tokens), d (width), a (heads) and V (classes). Each value has 4 bytes.
"""
import fractions
import re

# Two sizes. The second has a batch above 1, so that a missing or an additional factor is detected.
SIZES = ({"b": 1, "N": 196, "d": 768, "a": 12, "V": 1000}, {"b": 8, "N": 197, "d": 768, "a": 12, "V": 1000})
# Derived FLOPs and bytes of each operator. The intensity is FLOPs divided by bytes.
DERIVED = {
    "LN": ("6 N b d", "8 N b d"),
    "Q projection": ("2 N b d d", "8 N b d + 4 d d"),
    "K projection": ("2 N b d d", "8 N b d + 4 d d"),
    "V projection": ("2 N b d d", "8 N b d + 4 d d"),
    "QK product": ("2 N N b d", "8 N b d + 4 N N b a"),
    "scaling": ("N N b a", "8 N N b a"),
    "softmax": ("3 N N b a", "8 N N b a"),
    "SV product": ("2 N N b d", "4 N N b a + 8 N b d"),
    "O projection": ("2 N b d d", "8 N b d + 4 d d"),
    "addition": ("N b d", "12 N b d"),
    "LN of the MLP": ("6 N b d", "8 N b d"),
    "FC1": ("8 N b d d", "20 N b d + 16 d d"),
    "GELU": ("4 N b d", "32 N b d"),
    "FC2": ("8 N b d d", "20 N b d + 16 d d"),
    "addition of the MLP": ("N b d", "12 N b d"),
    "classifier": ("2 b d V", "4 b d + 4 d V + 4 b V"),
}
MATRIX_PRODUCTS = ("Q projection", "K projection", "V projection", "QK product", "SV product", "O projection", "FC1", "FC2")


def value(formula, sizes):
    """Returns the value of a sum of products, or of a quotient "SUM / SUM", as a fraction."""
    if not re.fullmatch(r"[0-9.bNdaV +/]+", formula):
        raise ValueError(f"{formula!r} is no formula in b, N, d, a and V")
    above, _, below = formula.partition("/")
    return sum_of(above, sizes) / (sum_of(below, sizes) if below else 1)


def sum_of(text, sizes):
    total = fractions.Fraction(0)
    for product in text.split("+"):
        term = fractions.Fraction(1)
        for factor in product.split():
            term *= sizes[factor] if factor in sizes else fractions.Fraction(factor)
        total += term
    return total


def agree(printed, derived):
    return all(value(printed, sizes) == value(derived, sizes) for sizes in SIZES)


def intensity(operator, sizes):
    flops, moved = DERIVED[operator]
    return value(flops, sizes) / value(moved, sizes)

# SPDX-License-Identifier: Apache-2.0
"""Claims of paper 003, the review."""
import itertools

from arithmetic import TEXT_AND_TABLE, Finding
from counts import review, vit
from figures import D, mean, short, shows


def v1(printed):
    told, agrees = [], True
    for task in printed.tables["F2-BiT"].columns:
        ours, bit = printed.figure("F2", "L/16 JFT", task), printed.figure("F2-BiT", "BiT", task)
        agrees = agrees and ours > bit
        told.append(f"{task} {ours} against {bit}")
    return Finding(agrees, f"Figure 2 prints {' and '.join(told)}: not higher on all tasks.")


def v2(printed):
    huge, large = (printed.row("F2", row) for row in ("H/14 JFT", "L/16 JFT"))
    tasks = printed.tables["F2"].columns
    lower = [f"{task} {ours} against {other}" for task, ours, other in zip(tasks, huge, large) if ours <= other]
    return Finding(mean(huge) > mean(large) and 2 * len(lower) < len(tasks),
                   f"Higher on {len(tasks) - len(lower)} of {len(tasks)} and in the mean ({short(mean(huge), 2)} against "
                   f"{short(mean(large), 2)}); not on {'; '.join(lower)}. Read as: better on the whole.")


def v3(printed):
    most, least = printed.figure("compute", "ViT", "most"), printed.figure("compute", "CNN", "least")
    return Finding(most < least, f"The most costly ViT took {most}, the cheapest convolutional network {least} thousand core-days. "
                   f"{TEXT_AND_TABLE}")


PUBLISHED_PATCHES = {"Base": (16, 32), "Large": (16, 32), "Huge": (14,)}


def v12(printed):
    def right(patches, classes):
        counts = {name: vit.parameters(name, patch, classes) for name, patch in patches.items()}
        return all(shows(D(count) / 10**6, printed.figure("T1", name, "parameters")) for name, count in counts.items())

    choices = [(dict(zip(PUBLISHED_PATCHES, patches)), classes)
               for patches in itertools.product(*PUBLISHED_PATCHES.values()) for classes in (0, 1000)]
    fitting = [choice for choice in choices if right(*choice)]
    examples = (vit.parameters("Base", 16, 0), vit.parameters("Large", 32), vit.parameters("Huge", 14))
    return Finding(bool(fitting), f"{len(fitting)} of {len(choices)} choices of published patch sizes, with or without heads, give all "
                   f"three. 86 M is Base/16 without its head ({examples[0]:,}), 307 M Large/32 with it ({examples[1]:,}), 632 M Huge/14 "
                   f"with it ({examples[2]:,}).")


def v13(printed):
    image, patch, tokens = printed.row("T2", "ViT-Base")
    patches = (image / patch) ** 2
    return Finding(patches + 1 == tokens, f"({image} / {patch})² is {patches} patches; with the class token, which the review's own "
                   f"equations prepend, an encoder sees {patches + 1} rows, not {tokens}.")


def wrong_columns(printed, operator):
    """Returns the columns of an operator's row whose printed values contradict the derived values."""
    flops, moved = review.DERIVED[operator]
    found = []
    for column, derived in (("FLOPs", flops), ("bytes", moved)):
        if not review.agree(printed.text("T3", operator, column), derived):
            found.append(column)
    intensity = printed.text("T3", operator, "intensity")
    if any(review.value(intensity, sizes) != review.intensity(operator, sizes) for sizes in review.SIZES):
        found.append("intensity")
    return found


def v14(printed):
    wrong = {operator: wrong_columns(printed, operator) for operator in review.DERIVED}
    wrong = {operator: columns for operator, columns in wrong.items() if columns}
    told = "; ".join(f"{operator}: {', '.join(columns)}" for operator, columns in wrong.items())
    return Finding(not wrong, f"{len(wrong)} of {len(review.DERIVED)} rows are wrong ({told}). docs/research/parity.md has them corrected.")


def v15(printed):
    sizes = review.SIZES[0]
    products = {name: float(review.intensity(name, sizes)) for name in review.MATRIX_PRODUCTS}
    rest = {name: float(review.intensity(name, sizes)) for name in review.DERIVED if name not in products and name != "classifier"}
    head = float(review.intensity("classifier", sizes))
    return Finding(max(rest.values()) < min(products.values()),
                   f"One image: elementwise operators do {min(rest.values()):.3f} to {max(rest.values()):.3f} FLOP/byte, the encoder's "
                   f"matrix products {min(products.values()):.1f} to {max(products.values()):.1f}. The claim holds for every machine "
                   f"whose balance lies between {max(rest.values()):.2f} and {min(products.values()):.1f}, as CPUs' does. The classifier, "
                   f"{head:.2f}, is a matrix product and memory bound.")

# SPDX-License-Identifier: Apache-2.0
"""Claims of paper 002, X-ViT."""
from arithmetic import TEXT_AND_TABLE, Finding
from counts import xcit, xvit
from figures import D, short, shows


def said(printed, row):
    return printed.figure("text", row, "figure")


def x1(printed):
    right, wrong = 0, []
    for name, form in xvit.MODELS.items():
        figures = [("T1", "parameters", xvit.parameters(form), 6), ("T1", "MACs", xvit.macs(form), 9)]
        if name in printed.tables["T1-384"].rows:
            figures.append(("T1-384", "MACs", xvit.macs(form, 384), 9))
        for table, column, count, scale in figures:
            if shows(D(count).scaleb(-scale), printed.figure(table, name, column)):
                right += 1
            else:
                wrong.append(f"{name} {column} {count:,}, printed {printed.text(table, name, column)}")
    return Finding(not wrong, f"{right} of {right + len(wrong)} figures follow from the layers. This is weak: depth and widths are not "
                   "printed, and were inferred from these figures." + "".join(f" {text}." for text in wrong))


def x4(printed):
    row = "XCiT-T12/16"
    parameters, macs = xcit.parameters(xcit.TINY), xcit.macs(xcit.TINY["width"])
    size, cost = printed.figure("T1-rivals", row, "parameters"), printed.figure("T1-rivals", row, "MACs")
    return Finding(shows(D(parameters) / 10**6, size),
                   f"The model of that name has {parameters:,} parameters, printed {size} M, and {macs:,} multiply-adds, printed {cost} G, "
                   f"which agrees. {size} M is the size of the next row, XCiT-S12/16. X-ViT-T ({printed.text('T1', 'T', 'parameters')} M) "
                   "is larger than this rival, not smaller.")


def x5(printed):
    gains = {row: printed.figure("T1-384", row, "top-1") - printed.figure("T1", row, "top-1") for row in ("M", "B")}
    return Finding(all(gain == said(printed, "384 over 224") for gain in gains.values()),
                   ", ".join(f"{row} {gain:+}" for row, gain in gains.items()) + f". {TEXT_AND_TABLE}")


def x6(printed):
    epochs, dear = said(printed, "epochs from scratch"), printed.figure("T1-384", "M", "MACs") / printed.figure("T1", "M", "MACs")
    deit, share = 30, said(printed, "share of the training time")
    return Finding(deit * dear / epochs <= share, f"An epoch of M at 384 takes {short(dear, 2)} times the multiply-adds. DeiT's {deit} "
                   f"epochs would take {short(deit * dear / epochs, 2)} of the time of {epochs}; {share} of it allows "
                   f"{int(share * epochs / dear)} epochs.")


def x11(printed):
    costs = [xvit.block_macs(xvit.MODELS["S"], tokens) for tokens in (196, 784, 3136)]
    return Finding(costs[1] == 4 * costs[0] and costs[2] == 16 * costs[0],
                   f"A block of S takes {costs[0]:,}, {costs[1]:,} and {costs[2]:,} multiply-adds for 196, 784 and 3,136 tokens: exactly "
                   "in proportion.")


def x17(printed):
    ours, network = printed.figure("T2", "X-ViT", "box AP"), printed.figure("T2", "best convolutional network", "box AP")
    return Finding(ours > network, f"{ours} is above {network}. \"Competitive or higher\" beside Swin-T and XCiT-S12 has no number that "
                   "could be contradicted; the reading of the table noted that X-ViT is below both.")

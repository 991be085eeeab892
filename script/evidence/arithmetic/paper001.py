# SPDX-License-Identifier: Apache-2.0
"""Claims of paper 001, EIT."""
import math

from arithmetic import TEXT_AND_TABLE, Finding
from counts import eit
from figures import D, accuracy_error, mean, points, short, shows

DATA = ("CIFAR-10", "CIFAR-100", "Fashion-MNIST", "Tiny-ImageNet")
SMALL = ("CIFAR-10", "CIFAR-100")
MINI, VIT, LSRA = "1.9 EIT3/4-Mini", "1.1 ViT", "1.2 LSRA"
# Maximum rounding error, in percentage points, of a mean of accuracies with three decimals.
ROUNDED = D("0.05")


def said(printed, row):
    return printed.figure("text", row, "figure")


def average(printed, row, table="T4", data=DATA):
    """Returns the mean accuracy over data sets in per cent."""
    return 100 * mean(printed.figure(table, row, name) for name in data)


def over(printed, row, other):
    return average(printed, row) - average(printed, other)


def e1(printed):
    wrong, rows = [], 0
    for table in ("T4", "ablation-sizes"):
        for row in printed.tables[table].rows:
            sums = eit.count(eit.ROWS[row])
            size, flops = printed.figure(table, row, "parameters"), printed.figure(table, row, "FLOPs")
            rows += 1
            if not shows(D(sums.flops()) / 10**9, flops):
                wrong.append(f"{row} takes {sums.flops():,} FLOPs, printed {flops} G")
            if not shows(D(sums.parameters) / 10**6, size):
                wrong.append(f"{row} has {sums.parameters:,} parameters, printed {size} M")
    return Finding(not wrong, f"{rows - len(wrong)} of {rows} rows follow from the layers, in size and FLOPs"
                   + "".join(f"; {text}" for text in wrong) + ".")


def e2(printed):
    difference = over(printed, MINI, VIT)
    fewer = [printed.figure("T4", MINI, column) < printed.figure("T4", VIT, column) for column in ("parameters", "FLOPs")]
    return Finding(shows(difference, said(printed, "over ViT"), ROUNDED) and all(fewer),
                   f"The mean of four data sets is {points(difference)} points higher, with {printed.text('T4', MINI, 'parameters')} "
                   f"against {printed.text('T4', VIT, 'parameters')} M parameters and {printed.text('T4', MINI, 'FLOPs')} against "
                   f"{printed.text('T4', VIT, 'FLOPs')} G. {TEXT_AND_TABLE}")


def e3(printed):
    rivals = {"CvT": "1.5 CvT^P + CvT^T", "LSRA": LSRA, "ViT_C": "1.6 ViT_C"}
    found = {name: over(printed, MINI, row) for name, row in rivals.items()}
    agrees = all(shows(value, said(printed, f"over {name}"), ROUNDED) for name, value in found.items())
    return Finding(agrees, ", ".join(f"{points(value)} over {name}" for name, value in found.items()) + f". {TEXT_AND_TABLE}")


def e4(printed):
    smaller = []
    for row in (LSRA, "1.5 CvT^P + CvT^T", "1.6 ViT_C"):
        if any(printed.figure("T4", row, column) < printed.figure("T4", MINI, column) for column in ("parameters", "FLOPs")):
            smaller.append(f"{row} has {printed.text('T4', row, 'parameters')} M parameters and "
                           f"{printed.text('T4', row, 'FLOPs')} G FLOPs")
    own = f"EIT has {printed.text('T4', MINI, 'parameters')} M and {printed.text('T4', MINI, 'FLOPs')} G"
    return Finding(not smaller, f"{'; '.join(smaller)}; {own}." if smaller else f"{own}, fewer than the others.")


def e5(printed):
    order = (VIT, "1.7 EIT^P", LSRA, "1.8 EIT^T", MINI)
    found = [100 * printed.figure("T4", row, "CIFAR-10") for row in order]
    gains = [value - found[0] for value in found[1:]]
    return Finding(found == sorted(found) and len(set(found)) == len(found),
                   f"CIFAR-10 column: {', '.join(short(value) for value in found)} per cent in this order, {short(gains[0])} to "
                   f"{short(gains[-1])} points above ViT. {TEXT_AND_TABLE}")


def alone(printed, row, text):
    difference = over(printed, row, VIT)
    return Finding(shows(difference, said(printed, text), ROUNDED),
                   f"Mean of four data sets: {points(difference)} points. {TEXT_AND_TABLE}")


def e6(printed):
    return alone(printed, "1.7 EIT^P", "EIT^P alone")


def e7(printed):
    return alone(printed, "1.8 EIT^T", "EIT^T alone")


def e8(printed):
    finding = alone(printed, MINI, "over ViT")
    both = over(printed, "1.7 EIT^P", VIT) + over(printed, "1.8 EIT^T", VIT)
    return Finding(finding.agrees, f"{finding.text} The two parts alone sum to {points(both)}.")


def e9(printed):
    rival, allowed = "ResNet34-3/1", D("1")
    share = 100 * printed.figure("T4", MINI, "parameters") / printed.figure("T5", rival, "parameters")
    found = {name: 100 * (printed.figure("T4", MINI, name) - printed.figure("T5", rival, name)) for name in DATA}
    agrees = shows(share, said(printed, "share of ResNet's parameters")) and all(value >= -allowed for value in found.values())
    told = ", ".join(f"{name} {points(value)}" for name, value in found.items())
    return Finding(agrees, f"{short(share, 2)} % of {rival}'s parameters. Accuracy beside it in points: {told}. \"Almost the same\" is "
                   f"read as at most {allowed} point less on each data set.")


def e10(printed):
    told, agrees = [], {}
    for rival in printed.tables["T5-FLOPs"].rows:
        higher = average(printed, MINI) > average(printed, rival, "T5")
        flops = printed.figure("T5-FLOPs", rival, "FLOPs")
        agrees[rival] = higher and printed.figure("T4", MINI, "FLOPs") < flops
        told.append(f"{rival}: {short(average(printed, rival, 'T5'), 2)} % and {flops} G")
    return Finding(agrees["ResNet34-3/1"], f"EIT3/4-Mini: {short(average(printed, MINI), 2)} % and {printed.text('T4', MINI, 'FLOPs')} G. "
                   f"{'; '.join(told)}. Read for ResNet34-3/1, of which the same sentence gives the share of parameters; "
                   "ResNet18-3/1 has fewer FLOPs.")


def e12(printed):
    parallel = "3.2 parallel convolution"
    loss = average(printed, MINI, data=SMALL) - average(printed, parallel, "ablation", SMALL)
    shares = {column: 100 * printed.figure("T4", MINI, column) / printed.figure("ablation-sizes", parallel, column)
              for column in ("parameters", "FLOPs")}
    about, allowed = said(printed, "cost of EIT beside the parallel form"), D("5")
    agrees = shows(loss, said(printed, "loss of the parallel form"), ROUNDED)
    agrees = agrees and all(abs(share - about) <= allowed for share in shares.values())
    return Finding(agrees, f"The parallel form is {points(-loss)} points on two data sets. EIT has {short(shares['parameters'], 1)} % of "
                   f"its parameters and {short(shares['FLOPs'], 1)} % of its FLOPs; \"about {about} %\" is read as within {allowed}.")


def e13(printed):
    rows = ("4.3 Conv Conv", "4.4 GELU Conv", "4.5 BN ReLU")
    lower = [printed.figure("ablation", row, name) < printed.figure("T4", MINI, name) for row in rows for name in SMALL]
    found = [average(printed, row, "ablation", SMALL) - average(printed, MINI, data=SMALL) for row in rows]
    return Finding(all(lower), f"Below EIT3/4-Mini on both data sets, by {', '.join(points(value) for value in found)} points in the "
                   f"mean. {TEXT_AND_TABLE}")


def e14(printed):
    gains = {row: average(printed, MINI, data=SMALL) - average(printed, row, "ablation", SMALL)
             for row in ("5.2 increasing", "5.3 invariant")}
    middle = mean(gains.values())
    return Finding(shows(middle, said(printed, "decreasing over the other orders"), ROUNDED),
                   f"{', '.join(f'{points(value)} over {row}' for row, value in gains.items())}, {points(middle)} in the mean. "
                   f"{TEXT_AND_TABLE}")


def e15(printed):
    told, agrees = [], True
    for name in SMALL:
        without, with_table = 100 * printed.figure("ablation", "6.1 no positions", name), 100 * printed.figure("T4", MINI, name)
        error = accuracy_error(without, with_table, 10000)
        agrees = agrees and abs(float(without - with_table)) <= 2 * error
        told.append(f"{name} {points(without - with_table)} (standard error {error:.2f})")
    return Finding(agrees, f"Without the table: {', '.join(told)}. \"Negligible\" is read as within two standard errors of the test set.")


def e21(printed):
    side = 9
    distances = set()
    for row in range(1, side - 1):
        for column in range(1, side - 1):
            window = [math.hypot(r, c) for r in (-1, 0, 1) for c in (-1, 0, 1)]
            distances.add(sum(window) / 9)
    return Finding(len(distances) == 1, f"The window of a 3x3 convolution has a mean distance of {distances.pop():.4f} cells at every "
                   "place away from the border: constant by definition, not a measurement.")


def e23(printed):
    channels = eit.attention_channels(eit.ROWS[MINI])
    width = eit.ROWS[MINI].width
    first = [width - a for a in channels]  # the first channel that attends in each block
    agrees = all(later < earlier for earlier, later in zip(first, first[1:])) and first[-1] == 0
    return Finding(agrees, f"Attention begins at channel {', '.join(map(str, first))} in blocks 1 to {len(first)}, so the channels that "
                   "join in a block met no attention before, as \"not directly\" says: the MLP mixes all channels from block 1 on.")

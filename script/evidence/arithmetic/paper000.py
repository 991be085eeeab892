# SPDX-License-Identifier: Apache-2.0
"""Claims of paper 000, QKV embeddings."""
from arithmetic import TEXT_AND_TABLE, Finding
from counts import xcit
from figures import D, accuracy_error, correlation, mean, points, short, shows

SHARED_WHOLLY = ("F-SNE,8", "F-SNE,8*", "F-SNE,16", "F-SNE,16*", "F-SNE,32", "F-SNE,64")
UNSTARRED = ("F-SNE,8", "F-SNE,16", "F-SNE,32", "F-SNE,64")
IMAGENET_IMAGES, CIFAR_IMAGES = 50000, 10000
# Critical value of Pearson's |r| over nine models. If |r| is above this value, r differs from 0 at the 5 % level.
LEAST_R_OF_NINE = 0.666


def gain(printed, variant, model="N12"):
    return printed.figure("T2", variant, model) - printed.figure("T2", "baseline", model)


def said(printed, row):
    return printed.figure("text", row, "figure")


def q1(printed):
    pairs = [(said(printed, "abstract: P-SNE"), printed.figure("T2", "P-SNE", "N12")),
             (said(printed, "abstract: size"), printed.figure("T2", "P-SNE", "N12 size")),
             (said(printed, "abstract: XCiT-N12"), printed.figure("T2", "baseline", "N12"))]
    told = ", ".join(f"{a} and {b}" for a, b in pairs)
    return Finding(all(a == b for a, b in pairs), f"Abstract and Table 2 print {told}. {TEXT_AND_TABLE}")


def q2(printed):
    nano, tiny = gain(printed, "SNE"), gain(printed, "SNE", "T12")
    agrees = nano == said(printed, "SNE over N12") and tiny == said(printed, "SNE over T12")
    return Finding(agrees, f"Table 2 gives {nano:+} for N12 and {tiny:+} for T12. {TEXT_AND_TABLE}")


def q3(printed):
    best = max(printed.column("T2", "N12").items(), key=lambda item: item[1])
    difference = gain(printed, "P-SNE")
    agrees = best[0] == "P-SNE" and difference == said(printed, "P-SNE over N12")
    return Finding(agrees, f"Best N12 model of Table 2: {best[0]}, {best[1]}, {difference:+} over the baseline. {TEXT_AND_TABLE}")


def q4(printed):
    difference, size = gain(printed, "F-SNE,8"), printed.figure("T2", "F-SNE,8", "N12 size")
    counted = xcit.parameters(xcit.NANO, "F-SNE,8")
    agrees = difference == said(printed, "F-SNE,8 over N12") and shows(D(counted) / 10**6, size)
    return Finding(agrees, f"Table 2 gives {difference:+}; the layers have {counted:,} parameters, printed {size} M. {TEXT_AND_TABLE}")


def q5(printed):
    found = [(name, gain(printed, name), said(printed, f"{name} over N12")) for name in ("F-SNE,8*", "F-SNE,16*")]
    told = ", ".join(f"{name} {difference:+}" for name, difference, _ in found)
    agrees = all(difference == printed_gain for _, difference, printed_gain in found)
    return Finding(agrees, f"Table 2 gives {told} at the baseline's printed size. {TEXT_AND_TABLE}")


def q6(printed):
    gains = [gain(printed, name, "T12") for name in SHARED_WHOLLY]
    agrees = min(gains) == said(printed, "least T12 F-SNE") and max(gains) == said(printed, "largest T12 F-SNE")
    return Finding(agrees, f"Table 2 gives {min(gains):+} to {max(gains):+} over six models. {TEXT_AND_TABLE}")


def q7(printed):
    ours, rival = printed.figure("T2", "P-SNE", "T12"), said(printed, "5.1: best rival")
    return Finding(ours - rival == said(printed, "5.1: P-SNE-T12 over it"),
                   f"{ours} less {rival} is {ours - rival}; the rival's figure is the paper's quotation.")


def q8(printed):
    wrong = []
    for model, sizes in (("N12", xcit.NANO), ("T12", xcit.TINY)):
        for variant in printed.tables["T2"].rows:
            count, size = xcit.parameters(sizes, variant), printed.figure("T2", variant, f"{model} size")
            if not shows(D(count) / 10**6, size):
                wrong.append(f"{model} {variant} has {count:,} parameters, printed {size} M")
    other = ", ".join(f"{size} M for T12 {row}" for row, size in printed.column("T4-sizes", "T12 size").items())
    rows = 2 * len(printed.tables["T2"].rows)
    return Finding(not wrong, f"{rows - len(wrong)} of {rows} sizes follow from the layers. " + "; ".join(wrong) +
                   f". Table 4 prints {other}.")


def q9(printed):
    counts = {}
    for model, sizes in (("N12", xcit.NANO), ("T12", xcit.TINY)):
        base = xcit.parameters(sizes)
        counts |= {f"{model} {name}": xcit.parameters(sizes, name) / base for name in ("F-SNE,8*", "F-SNE,16*")}
    told = ", ".join(f"{name} {100 * share - 100:+.2f} %" for name, share in counts.items())
    return Finding(all(abs(share - 1) < 0.005 for share in counts.values()), f"Parameters beside the baseline: {told}.")


def q10(printed):
    gains = [printed.figure("T3", name, "N12") - printed.figure("T2", name, "N12") for name in printed.tables["T3"].rows]
    better = sum(gain > 0 for gain in gains)
    return Finding(better == len(gains), f"{better} of {len(gains)} models are better distilled; the differences are {min(gains):+} to "
                   f"{max(gains):+} points.")


def q11(printed):
    base = printed.figure("T3", "baseline", "N12")
    gains = {name: printed.figure("T3", name, "N12") - base for name in ("P-SNE", *SHARED_WHOLLY)}
    own = printed.figure("T3", "SNE", "N12") - base
    better = [name for name, value in gains.items() if value > 0]
    error = accuracy_error(base, base, IMAGENET_IMAGES)
    not_better = ", ".join(f"{name} {value:+}" for name, value in gains.items() if value <= 0)
    return Finding(len(better) == len(gains) and own <= 0,
                   f"{len(better)} of {len(gains)} shared embeddings are above the distilled baseline; not {not_better}. SNE {own:+}. "
                   f"The standard error of a difference of two models on 50,000 images is {error:.2f} points.")


def transfer_means(printed, model):
    return {name: mean(printed.row(f"T4-{model}", name)) for name in printed.tables[f"T4-{model}"].rows}


def q12(printed):
    told, agrees = [], True
    for model, winner in (("N12", "F-SNE,32"), ("T12", "F-SNE,8")):
        means = transfer_means(printed, model)
        best = max(means.values())
        first = [name for name, value in means.items() if value == best]
        agrees = agrees and winner in first
        told.append(f"{model}: {' and '.join(first)} with {short(best)}")
    return Finding(agrees, "Best means of the four data sets: " + "; ".join(told) + ". A tie counts for the paper.")


def q13(printed):
    told, better, models = [], 0, 0
    for model in ("N12", "T12"):
        means = transfer_means(printed, model)
        above = [name for name in SHARED_WHOLLY if means[name] > max(means["SNE"], means["P-SNE"])]
        told.append(f"{len(above)} of {len(SHARED_WHOLLY)} with {model}")
        better, models = better + len(above), models + len(SHARED_WHOLLY)
    return Finding(2 * better > models, f"F-SNE models whose mean is above both SNE's and P-SNE's: {' and '.join(told)}. "
                   f"Read over both models, {better} of {models} are most; N12 alone shows no majority.")


def q14(printed):
    base = printed.figure("T4-T12", "baseline", "Cars")
    rest = [value - base for name, value in printed.column("T4-T12", "Cars").items() if name != "baseline"]
    return Finding(all(value < 0 for value in rest), f"All {len(rest)} differences are {min(rest)} to {max(rest)} points.")


def q15(printed):
    base = printed.figure("T4-N12", "baseline", "CIFAR-10")
    gains = [value - base for name, value in printed.column("T4-N12", "CIFAR-10").items() if name != "baseline"]
    error = accuracy_error(base, base + max(gains), CIFAR_IMAGES)
    agrees = min(gains) == said(printed, "least CIFAR-10 gain") and max(gains) == said(printed, "largest CIFAR-10 gain")
    return Finding(agrees, f"Read for N12: {min(gains):+} to {max(gains):+} points. Two standard errors of a difference on 10,000 "
                   f"images are {2 * error:.2f} points, so no gain below that is resolved in print.")


def q17(printed):
    shared, own = printed.figure("T5", "shared codes", "N12"), printed.figure("T5", "own codes", "N12")
    error = accuracy_error(shared, own, IMAGENET_IMAGES)
    return Finding(shared > own, f"The difference is {points(shared - own)} points, {float(shared - own) / error:.1f} standard errors "
                   "of two accuracies on 50,000 images: not resolved in print.")


def q18(printed):
    shared, own = xcit.parameters(xcit.NANO, "F-SNE,8*"), xcit.parameters(xcit.NANO, "F-SNE,8*", own_codes=True)
    table5 = printed.figure("T5", "shared codes", "N12 size"), printed.figure("T5", "own codes", "N12 size")
    table2 = printed.figure("T2", "F-SNE,8*", "N12 size")
    agrees = shows(D(shared) / 10**6, table5[0]) and shows(D(own) / 10**6, table5[1])
    return Finding(agrees, f"The layers have {shared:,} parameters with shared codes, printed {table5[0]} M here and {table2} M in "
                   f"Table 2; with own codes {own:,}, printed {table5[1]} M.")


def q21(printed):
    found = {}
    accuracies = list(printed.column("T2", "N12").values())
    for data in printed.tables["T4-N12"].columns:
        found[data] = correlation(accuracies, list(printed.column("T4-N12", data).values()))
    told = ", ".join(f"{data} {r:.2f}" for data, r in found.items())
    clear = [data for data, r in found.items() if r > LEAST_R_OF_NINE]
    return Finding(all((r > 0) == (data != "Cars") for data, r in found.items()),
                   f"Pearson's r over nine N12 models: {told}. At 5 % only {' and '.join(clear)} differs from 0 (|r| > {LEAST_R_OF_NINE}).")


def q22(printed):
    told, agrees = [], True
    for model, code in (("N12", "F-SNE,8"), ("T12", "F-SNE,16")):
        column = {name: printed.figure("T2", name, model) for name in UNSTARRED}
        order = sorted(column, key=column.get, reverse=True)
        agrees = agrees and order[0] == code and column[order[0]] > column[order[1]]
        told.append(f"{model}: {order[0]} by {column[order[0]] - column[order[1]]}")
    error = accuracy_error("70", "70", IMAGENET_IMAGES)
    return Finding(agrees, f"Best unstarred models of Table 2: {'; '.join(told)} points. The standard error of a difference is about "
                   f"{error:.2f}: not resolved in print.")


def q24(printed):
    costs = [xcit.block_macs(xcit.NANO["width"], 4, tokens) for tokens in (196, 784, 3136)]
    return Finding(costs[1] == 4 * costs[0] and costs[2] == 16 * costs[0],
                   f"A block of N12 takes {costs[0]:,}, {costs[1]:,} and {costs[2]:,} multiply-adds for 196, 784 and 3,136 tokens: "
                   "exactly in proportion.")

# SPDX-License-Identifier: Apache-2.0
"""Claims of paper 004, the KV transformer."""
from arithmetic import Finding, attention, numbers
from counts import kv
from figures import listed, mean, short, shows

KINDS = ("QKV", "KV+Pos", "KV")
IMAGES = ("MNIST", "Fashion-MNIST", "CIFAR-10", "CIFAR-100")
EXACT = 1e-12


def said(printed, row):
    return printed.figure("text", row, "figure")


def k1(printed):
    width = 256
    parts = kv.scores(width, "KV", 0) / kv.scores(width, "QKV", 0)
    whole = {kind: kv.attention(width, kind, 0, False) for kind in ("QKV", "KV")}
    saved = whole["QKV"] - whole["KV"]
    block = {name: whole["QKV"] + 2 * inner * width * width for name, inner in (("4d", 4), ("d", 1))}
    return Finding(parts == 0.5, f"What makes the scores is halved, as Table 1 counts it. With values and output, which Table 1 leaves "
                   f"out, KV saves {100 * saved / whole['QKV']:.0f} % of an attention module, {100 * saved / block['d']:.0f} % of a block "
                   f"whose MLP is d wide and {100 * saved / block['4d']:.0f} % of one whose MLP is 4d wide (d = {width}).")


def k2(printed):
    width, channels = 64, 10
    real = kv.attention(width, "KV+Pos", channels, False) - kv.attention(width, "KV", channels, False)
    table = kv.scores(width, "KV+Pos", channels) - kv.scores(width, "KV", channels)
    return Finding(real == table, f"Table 1 adds m = {table} parameters; the linear layer m to 1 has a bias, {real}. Its n² m operations "
                   "are per head: the form as printed maps every head's scores, h n² m.")


def k3(printed):
    keys = attention.matrix(1)
    scores = attention.scores(keys, keys)
    weights = attention.softmax(scores)
    asymmetry = attention.largest_difference(scores, attention.transposed(scores))
    after = attention.largest_difference(weights, attention.transposed(weights))
    return Finding(asymmetry < EXACT and after > 0.01, "Read for the scores, as Figure 3 draws them: k·k' is symmetric. After the "
                   f"softmax the weights are not (largest difference {after:.2f} on random keys), because rows have other sums.")


def k4(printed):
    keys, weights = attention.matrix(1), attention.matrix(5, 1, attention.CHANNELS)[0]
    scores = attention.scores(keys, keys)
    full = attention.softmax(attention.mapped(scores, weights, 0.7))
    reduced = attention.softmax(attention.with_offsets(scores, weights))
    gap = attention.largest_difference(full, reduced)
    return Finding(gap > EXACT, "The encoding of a pair is [E(i), E(j)], and the map is linear: its part of i is the same along a row and "
                   "cancels in the softmax. What is left is one scale of all scores and one offset per key, the same for every query, "
                   f"image and head (largest difference of both forms below {EXACT:g}). The two-dimensional encoding acts in one "
                   "dimension.")


def k5(printed):
    keys = attention.matrix(1)
    tied = attention.softmax(attention.scores([list(row) for row in keys], keys))
    gap = attention.largest_difference(attention.softmax(attention.scores(keys, keys)), tied)
    return Finding(gap > EXACT, "With W_q = W_k the queries are the keys, so both are softmax(k·k'): the same function and the same "
                   "gradient of the shared matrix. Only the number of stored matrices differs.")


def k11(printed):
    means = {kind: mean(printed.row("T2", kind)) for kind in KINDS}
    agrees = means["KV+Pos"] > means["KV"] > means["QKV"]
    agrees = agrees and all(shows(value, printed.figure("means", kind, "synthetic")) for kind, value in means.items())
    deviations = [deviation for kind in KINDS for deviation in printed.row("T2-deviations", kind)]
    least, most = min(deviations), max(deviations)
    return Finding(agrees, f"Means of five tasks: {listed(means)}, as printed. KV is above QKV by {short(means['KV'] - means['QKV'], 4)}, "
                   f"with deviations over the grid of {least} to {most}.")


def k18(printed):
    four = {kind: mean(printed.figure("T3", kind, data) for data in IMAGES) for kind in KINDS}
    five = {kind: mean(printed.row("T3", kind)) for kind in KINDS}
    agrees = four["KV+Pos"] > max(four["QKV"], four["KV"]) and four["QKV"] < min(four["KV+Pos"], four["KV"])
    return Finding(agrees, f"Means of the four image sets: {listed(four)}: KV+Pos is not above QKV. With set anomaly: {listed(five)}: "
                   "KV+Pos is, and QKV is above KV. Set anomaly alone decides, and its anomaly stands in a place that KV+Pos can see.")


def k20(printed):
    inputs = attention.matrix(1)
    order = [4, 0, 7, 2, 8, 1, 6, 3, 5]
    gaps = {}
    for kind in KINDS:
        expected = [attention.answers(inputs, kind)[i] for i in order]
        gaps[kind] = attention.largest_difference(attention.answers([inputs[i] for i in order], kind), expected)
    agrees = gaps["QKV"] < EXACT and gaps["KV"] < EXACT and gaps["KV+Pos"] > 0.01
    return Finding(agrees, f"A permutation of the inputs permutes the outputs of QKV and KV exactly. KV+Pos changes them, by up to "
                   f"{gaps['KV+Pos']:.2f}: it does not have what a task on sets needs.")


def k24(printed):
    tokens = numbers.tokens()
    words = len(set(tokens))
    return Finding(words == said(printed, "numbers: vocabulary") and len(tokens) == said(printed, "numbers: tokens"),
                   f"1 to 9,999 without 8,000, spelled out and joined by full stops, are {len(tokens):,} tokens of {words} kinds. With "
                   "8,000 there would be three more.")


def k28(printed):
    parts = [said(printed, row) for row in ("digit tasks", "image tasks", "language tasks")]
    return Finding(sum(parts) == said(printed, "tasks"), f"{' + '.join(map(str, parts))} tasks. What the grids of settings were is another "
                   "matter: K7.")

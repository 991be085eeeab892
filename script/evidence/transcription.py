# SPDX-License-Identifier: Apache-2.0
"""Compares the printed figures and the counts of counts/ with the figures of the same models in models/zoo/ and docs/research/models/."""
import re

from counts import eit, vit, xcit, xvit
from figures import D
from records import ROOT

XCIT = {"baseline": "", "SNE": "-sne", "P-SNE": "-p-sne", "F-SNE,8": "-f-sne-8", "F-SNE,8*": "-f-sne-8-wide", "F-SNE,16": "-f-sne-16",
        "F-SNE,16*": "-f-sne-16-wide", "F-SNE,32": "-f-sne-32", "F-SNE,64": "-f-sne-64"}
EIT = {"1.1 ViT": "vit-mini", "1.2 LSRA": "lsra-mini", "1.3 CvT^P": "cvt-p-mini", "1.4 CvT^T": "cvt-t-mini",
       "1.5 CvT^P + CvT^T": "cvt-pt-mini", "1.6 ViT_C": "vit-c-mini", "1.7 EIT^P": "eit-p-mini", "1.8 EIT^T": "eit-t-mini",
       "1.9 EIT3/4-Mini": "eit34-mini", "2.14 EIT3/3-Mini": "eit33-mini", "2.15 EIT3/4-Tiny": "eit34-tiny",
       "2.16 EIT3/3-Tiny": "eit33-tiny", "2.17 EIT3/4-Base": "eit34-base", "2.18 EIT3/3-Base": "eit33-base",
       "3.2 parallel convolution": "eit34-mini-parallel", "4.3 Conv Conv": "eit34-mini-conv-conv", "4.4 GELU Conv": "eit34-mini-gelu-conv",
       "4.5 BN ReLU": "eit34-mini-bn-relu", "5.2 increasing": "eit34-mini-increasing", "5.3 invariant": "eit34-mini-invariant",
       "6.1 no positions": "eit34-mini-no-positions"}
VIT = {"vit-b16": ("Base", 16), "vit-b32": ("Base", 32), "vit-l16": ("Large", 16), "vit-l32": ("Large", 32), "vit-h14": ("Huge", 14)}
# Exception: for this model, Tables 2 and 4 print different sizes, and the zoo has the size of Table 4.
OTHER_TABLE = {("xcit-t12-f-sne-64", "parameters")}


def published():
    """Returns the printed figures of models/zoo/published.cc: parameters, FLOPs and accuracy by model name."""
    rows = re.findall(r'\{"([\w-]+)", "([\d.]*)", "([\d.]*)", k\w+, \d+, "([\d.]*)"', (ROOT / "models/zoo/published.cc").read_text())
    return {name: {"parameters": size, "FLOPs": flops, "accuracy": accuracy} for name, size, flops, accuracy in rows}


def zoo_counts():
    """Returns the number of parameters of each model in models/zoo/, by name."""
    counts = {}
    for path in (ROOT / "models/zoo").glob("*.cc"):
        for name, count in re.findall(r"""\{"([\w-]+)",[^{}"]*?, (\d+(?:'\d{3})+),\s""", path.read_text()):
            counts[name] = int(count.replace("'", ""))
    return counts


def our_counts():
    counts = {}
    for model, sizes in (("xcit-n12", xcit.NANO), ("xcit-t12", xcit.TINY)):
        counts |= {model + end: xcit.parameters(sizes, row) for row, end in XCIT.items()}
    for row, form in eit.ROWS.items():
        sums = eit.count(form)
        # The paper counts BatchNorm's moving statistics as parameters; the zoo does not.
        moving = 2 * sum(form.width - a for a in eit.attention_channels(form)) if form.mixer == "bn relu" else 0
        counts[f"{EIT[row]}-cifar10"] = sums.parameters - moving
    counts |= {f"xvit-{name.lower()}": xvit.parameters(form) for name, form in xvit.MODELS.items()}
    return counts | {name: vit.parameters(*model) for name, model in VIT.items()}


def figures_of(printed):
    """Returns the printed figures of the tables: (model name in the zoo, column, figure, place)."""
    found = []
    for row, end in XCIT.items():
        for model in ("N12", "T12"):
            name = f"xcit-{model.lower()}{end}"
            found.append((name, "accuracy", printed["000"].figure("T2", row, model), f"000 T2 {row} {model}"))
            found.append((name, "parameters", printed["000"].figure("T2", row, f"{model} size"), f"000 T2 {row} {model} size"))
    for table in ("T4", "ablation", "ablation-sizes"):
        for row in printed["001"].tables[table].rows:
            for column, name in (("parameters", "parameters"), ("FLOPs", "FLOPs"), ("CIFAR-10", "accuracy")):
                if column in printed["001"].tables[table].columns:
                    figure = printed["001"].figure(table, row, column)
                    figure = 100 * figure if name == "accuracy" else figure
                    found.append((f"{EIT[row]}-cifar10", name, figure, f"001 {table} {row} {column}"))
    for row in printed["002"].tables["T1"].rows:
        for column, name in (("parameters", "parameters"), ("MACs", "FLOPs"), ("top-1", "accuracy")):
            found.append((f"xvit-{row.lower()}", name, printed["002"].figure("T1", row, column), f"002 T1 {row} {column}"))
    for row, name in (("Base", "vit-b16"), ("Large", "vit-l16"), ("Huge", "vit-h14")):
        found.append((name, "parameters", printed["003"].figure("T1", row, "parameters"), f"003 T1 {row}"))
    return found


def compare(printed):
    """Returns the number of compared figures, and the complaints."""
    table, zoo, complaints = published(), zoo_counts(), []
    found = figures_of(printed)
    for name, column, figure, place in found:
        other = table.get(name, {}).get(column)
        if other != "" and (name, column) not in OTHER_TABLE and (other is None or D(other) != figure):
            complaints.append(f"{place} is {figure} in data/printed and {other} in models/zoo/published.cc")
    ours = our_counts()
    complaints += [f"{name} has {count:,} parameters by script/evidence/counts and {zoo.get(name)} in models/zoo/"
                   for name, count in ours.items() if zoo.get(name) != count]
    documented = "".join(path.read_text() for path in (ROOT / "docs/research/models").glob("*.md"))
    complaints += [f"docs/research/models/ does not have {name}'s {count:,} parameters" for name, count in ours.items()
                   if f"{count:,}" not in documented]
    return len(found) + len(ours), complaints

# SPDX-License-Identifier: Apache-2.0
"""Decides claims by the contents of the authors' own files. Each claim has a function that is named after the claim's id.

A function takes the paper's printed figures, and the figures of the records by name. It returns a Finding.
"""
import json

from arithmetic import Finding
from figures import D, listed, mean, short, shows, unit
from notebooks import digest_of, record
from records import Broken

KINDS = ("QKV", "KV+Pos", "KV")


def read(folder):
    """Returns the records by name. Raises Broken if a record does not match its digest."""
    entries = {}
    for path in sorted((folder / "data" / "outputs").glob("*.json")):
        try:
            entry = json.loads(path.read_text())
            recorded, found = entry["record_sha256"], digest_of(entry)
        except (ValueError, KeyError) as error:
            raise Broken(f"outputs/{path.name} is no record: {error}") from None
        if recorded != found:
            raise Broken(f"outputs/{path.name} does not have its digest")
        entries[path.stem] = entry
    return entries


def read_again(entries, folder):
    """Returns complaints about records that differ from the authors' files in `folder`."""
    complaints = []
    for name, entry in entries.items():
        try:
            again = json.loads(json.dumps(record(name, folder)))
        except (OSError, KeyError, IndexError, TypeError) as error:
            complaints.append(f"{name}: {entry['path']} cannot be read: {error!r}")
            continue
        complaints += [f"{name}: {field} is recorded as {str(entry[field])[:60]}, the file has {str(again[field])[:60]}"
                       for field in again if entry[field] != again[field]]
    return complaints


def decide(claim, printed, entries):
    """Returns the Finding of a claim, or None if no function decides it."""
    function = globals().get(claim.lower())
    return function(printed, {name: entry["figures"] for name, entry in entries.items()}) if function else None


def column(printed, stored, task):
    """Returns the largest difference between a printed column and the stored means, and these means."""
    means = {kind: D(stored["004-digits"][task][kind][0]) for kind in KINDS}
    gaps = [abs(means[kind] - printed.figure("T2", kind, task)) for kind in KINDS]
    return max(gaps), means


def as_printed(printed, stored, task):
    gap, means = column(printed, stored, task)
    last = unit(printed.figure("T2", "QKV", task))
    return Finding(gap <= last, f"Stored means over {stored['004-digits'][task]['files']} settings: {listed(means)}. They agree with print "
                   f"within one unit of its last digit.")


def k6(printed, stored):
    gaps = {task: column(printed, stored, task)[0] for task in ("swap", "sub")}
    swap, sub = column(printed, stored, "swap")[1], column(printed, stored, "sub")[1]
    crossed = max(abs(swap[kind] - printed.figure("T2", kind, "sub")) for kind in KINDS)
    return Finding(max(gaps.values()) <= D("0.001"), f"Stored means: swap {listed(swap)}; sub {listed(sub)}. Print has swap's figures "
                   f"under sub, and sub's under swap: exchanged so, the largest difference is {crossed}.")


def k7(printed, stored):
    files = {task: int(values["files"]) for task, values in stored["004-digits"].items()}
    grid = stored["004-digit-grid"]
    size, names = 1, []
    for name, values in grid.items():
        size *= len(values)
        names.append(f"{name} {', '.join(values)}")
    said = int(printed.figure("text", "settings of a digit task", "figure"))
    return Finding(all(count == said for count in files.values()),
                   f"Files averaged: {', '.join(f'{task} {count}' for task, count in files.items())}, not {said}. The script's loop has "
                   f"{size} settings ({'; '.join(names)}), which fits the three tasks of 16.")


def k8(printed, stored):
    return as_printed(printed, stored, "reverse")


def k9(printed, stored):
    finding = as_printed(printed, stored, "sort")
    other = [f"{kind}'s {value} does not round to the printed {printed.figure('T2', kind, 'sort')}"
             for kind, value in column(printed, stored, "sort")[1].items() if not shows(value, printed.figure("T2", kind, "sort"))]
    return Finding(finding.agrees, " ".join([finding.text, *(f"{text}." for text in other)]))


def k10(printed, stored):
    return as_printed(printed, stored, "copy")


def k14(printed, stored):
    protocol = stored["004-digit-images"]
    looks = 20 / float(protocol["measured every epochs"])
    on_test = protocol["validation is the test set"] == protocol["the best is reloaded"] == "True"
    return Finding(on_test, f"By the authors' script the figure is the best of {looks:.0f} measurements of the test set in 20 epochs: its "
                   "validation set is the test set, and the best state is reloaded before the test.")


k15 = k14


def at_step(stored, step):
    return {kind: mean(D(run[step]) for run in stored["004-characters"][kind]) for kind in KINDS}


def k21(printed, stored):
    losses, last = at_step(stored, "1000"), at_step(stored, "9999")
    alike, apart = abs(losses["KV+Pos"] - losses["KV"]), abs(losses["KV+Pos"] - losses["QKV"])
    return Finding(alike < apart and losses["QKV"] < min(losses["KV+Pos"], losses["KV"]),
                   f"Validation loss at 1,000 steps, mean of two runs: {listed(losses, 3)}. KV+Pos is {short(apart)} from QKV and "
                   f"{short(alike)} from KV, so it is not KV that it is like. At the end: {listed(last, 3)}.")


def k22(printed, stored):
    settings = stored["004-character-settings"]
    heads = [printed.figure("text", f"characters: {which} heads", "figure") for which in ("fewest", "most")]
    steps = printed.figure("text", "characters: iterations", "figure")
    return Finding(D(settings["steps"]) == steps and D(settings["heads"]) in heads,
                   f"The stored run has {int(settings['steps']):,} iterations and {settings['heads']} heads (width {settings['width']}, "
                   f"{settings['layers']} layers, {settings['length']} characters), print says {steps:,} iterations and {heads[0]} or "
                   f"{heads[1]} heads.")


def by_rate(stored, rate):
    """Returns the mean loss of each kind of attention over lengths and runs."""
    rows = [row for row in stored["004-numbers"] if row[0] == rate]
    return {kind: mean(D(row[5]) for row in rows if row[2] == kind) for kind in KINDS}


def k23(printed, stored):
    fast, slow = by_rate(stored, "0.001"), by_rate(stored, "0.0001")
    close, worse = fast["KV+Pos"] - fast["QKV"], fast["KV"] - fast["QKV"]
    return Finding(abs(close) < abs(worse) / 3 and worse > 0,
                   f"Validation loss after 15 epochs, means over four lengths and five runs, at a rate of 1e-3: {listed(fast, 3)}. KV+Pos "
                   f"is {short(close)} from QKV, KV {short(worse)}; \"close\" is read as less than a third of it. At 1e-4 nothing is "
                   f"separated: {listed(slow, 3)}.")


def pairs(stored, first, second, place):
    """Returns the differences `first` - `second` of two kinds of attention, one for each (width, heads, run)."""
    values = {(row[0], row[1], row[3], row[2]): D(row[place]) for row in stored["004-translation"]}
    keys = [key[:3] for key in values if key[3] == first and (*key[:3], second) in values]
    return [values[(*key, first)] - values[(*key, second)] for key in keys]


def k25(printed, stored):
    found = pairs(stored, "KV+Pos", "KV", 4)
    worse = sum(value > 0 for value in found)
    return Finding(2 * worse > len(found) and mean(found) > 0,
                   f"English to German, two layers: the validation loss of KV+Pos is higher than KV's in {worse} of {len(found)} pairs, by "
                   f"{short(mean(found))} in the mean. The authors' module adds the map in the attention to the source too, so the "
                   "encoding alone is not to blame.")


def k26(printed, stored):
    losses, bleu = pairs(stored, "KV", "QKV", 4), [100 * value for value in pairs(stored, "KV", "QKV", 5)]
    return Finding(False, f"English to German, two layers: KV's validation loss is above QKV's in {sum(v > 0 for v in losses)} of "
                   f"{len(losses)} pairs, by {min(losses)} to {max(losses)}. Its BLEU is lower in {sum(v < 0 for v in bleu)} of "
                   f"{len(bleu)} pairs, by {short(-mean(bleu), 1)} in the mean.")


def k27(printed, stored):
    module = stored["004-translation-module"]
    swapped = module["keys for queries at equal lengths"] == "True"
    return Finding(not swapped, f"The authors' KV module keeps {module['projections']} projections in every attention, and takes the keys "
                   "for the queries wherever both have equal lengths: so in attention to the source too when a source is as long as its "
                   "target.")

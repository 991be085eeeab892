# SPDX-License-Identifier: Apache-2.0
"""Reads figures from the authors' files: printed outputs of notebook cells, and settings in their source."""
import hashlib
import json
import re


def digest(content):
    return hashlib.sha256(content).hexdigest()


def cell(content, index):
    return json.loads(content)["cells"][index]


def output_of(content, index):
    """Returns the text that a cell printed, and the HTML of the tables that it displayed."""
    text = ""
    for output in cell(content, index).get("outputs", []):
        shown = output.get("data", {})
        text += "".join(output.get("text", [])) or "".join(shown.get("text/html", []))
    return text


def source_of(content, index):
    return "".join(cell(content, index)["source"])


def listed(name, source):
    """Returns the values over which a loop runs: `for NAME in [1, 2]`."""
    return re.search(rf"for {name} in \[([^]]*)\]", source)[1].replace(" ", "").split(",")


def digits(content):
    """Digit tasks: the number of result files, and mean and deviation over them."""
    found = {}
    for task, files, body in re.findall(r"^(reverse|sort|copy|swap|sub)\n(\d+)\n(.*?)(?=^(?:reverse|sort|copy|swap|sub)$|\Z)",
                                        output_of(content, 7), re.MULTILINE | re.DOTALL):
        means = re.findall(r"^(qkv|kv|kv-nopos) & ([\d.]+) \(([\d.]+)\)", body, re.MULTILINE)
        found[task] = {"files": files} | {KINDS[kind]: [mean, deviation] for kind, mean, deviation in means}
    return found


# Kinds of attention by the authors' names.
KINDS = {"qkv": "QKV", "kv": "KV+Pos", "kv-nopos": "KV"}


def digit_grid(content):
    """Digit tasks: the values of the loop over settings."""
    loop = content.decode().split("def run_model")[1]
    return {name: listed(variable, loop) for name, variable in
            (("lengths", "sequence_length"), ("widths", "d_dim"), ("depths", "d_depth"), ("heads", "h_heads"))}


def characters(content):
    """Characters: validation loss by step, for each attention and run."""
    found = {}
    for block in re.split(r"-+ attn type: ", output_of(content, 47))[1:]:
        runs = [dict(re.findall(r"step (\d+): train loss [\d.]+, val loss ([\d.]+)", run)) for run in block.split("Execution time")]
        found[KINDS[block.split("\n")[0]]] = [run for run in runs if run]
    return found


def character_settings(content):
    """Characters: the settings that were in force, which are the last assignments at the start of a line."""
    source = source_of(content, 47)
    names = {"steps": "max_iters", "heads": "n_head", "width": "n_embd", "layers": "n_layer", "length": "block_size"}
    return {name: re.findall(rf"^{variable} *= *(\d+)", source, re.MULTILINE)[-1] for name, variable in names.items()}


def numbers(content):
    """Numbers: validation loss of the last epoch by rate, length, attention and run."""
    found = []
    lengths = listed("sequence_length", source_of(content, 60))
    for index in (60, 61):
        text, seen = output_of(content, index), {}
        for rate, kind, run, before, body in number_runs(text):
            if before:
                length = before
            else:
                seen.setdefault((rate, kind, run), iter(lengths))
                length = next(seen[rate, kind, run])
            losses = re.findall(r"<td>\d+</td>\s*<td>[\d.]+</td>\s*<td>([\d.]+)</td>", body)
            found.append([rate, length, KINDS[kind], run, str(len(losses)), losses[-1]])
    return found


def number_runs(text):
    """Returns rate, kind of attention, run, the length in the name of the last printed file, and the run's table."""
    length = ""
    for part in re.split(r"(?=numbers-+ lr:)", text):
        head = re.match(r"numbers-+ lr:([\d.]+) -+  attn_type: ([\w-]+), run number: (\d+)", part)
        if head:
            yield *head.groups(), length, part
        named = re.search(r"\d+_\d+_[\d.]+_(\d+)_numbers\.pkl", part)
        length = named[1] if named else length


def translation(content):
    """Translation: validation loss and BLEU of the last epoch by width, heads, attention and run; finished runs alone."""
    source = source_of(content, 50)
    settings = [(width, heads) for width in listed("BASELINE_MODEL_DIMENSION", source)
                for heads in listed("BASELINE_MODEL_NUMBER_OF_HEADS", source)]
    found, seen = [], {}
    for part in re.split(r"translation_\w+-+ norm type: ", output_of(content, 50))[1:]:
        kind, run = re.match(r"([\w-]+), run number: (\d+)", part).groups()
        losses = re.findall(r"Val loss: ([\d.]+)", part)
        bleu = re.findall(r"BLEU-4 corpus score = ([\d.e-]+),", part)
        width, heads = settings[seen.get((kind, run), 0)]
        seen[kind, run] = seen.get((kind, run), 0) + 1
        if len(losses) == len(bleu) == EPOCHS:
            found.append([width, heads, KINDS[kind], run, losses[-1], f"{float(bleu[-1]):.4f}"])
    return found


EPOCHS = 20  # epochs of a finished translation run


def translation_module(content):
    """Translation: the layers of the KV module before its output, and whether it takes keys for queries at equal lengths."""
    source = source_of(content, 25)
    return {"projections": re.search(r"kv_nets = get_clones\(.*?, (\d+)\)", source)[1],
            "keys for queries at equal lengths": str(bool(re.search(r"= key if (\w) ?== ?(\w) else query", source)))}


def digit_images(content):
    """MNIST and Fashion-MNIST: how often within an epoch the validation set is measured, and whether it is the test set."""
    text = content.decode()
    return {"measured every epochs": re.search(r"val_check_interval=([\d.]+)", text)[1],
            "validation is the test set": str(bool(re.search(r"val_loader = \S+\(test_set", text))),
            "the best is reloaded": str(bool(re.search(r"load_from_checkpoint\(.*best_model_path", text)))}


# Records of docs/research/claims/data/outputs/: file, cell, and the function that reads the cell. Each record has a copy of the
# docstring of its function, and script/claims audit compares the two.
RECORDS = {
    "004-digits": ("plot.ipynb", "7", digits),
    "004-digit-grid": ("Reverse_sort_pos.py", "", digit_grid),
    "004-characters": ("gpt_dev_pos.ipynb", "47", characters),
    "004-character-settings": ("gpt_dev_pos.ipynb", "47", character_settings),
    "004-numbers": ("numbers_pos.ipynb", "60, 61", numbers),
    "004-translation": ("translation_transformer_pos.ipynb", "50", translation),
    "004-translation-module": ("translation_transformer_pos.ipynb", "25", translation_module),
    "004-digit-images": ("ViT-nist_pos.py", "", digit_images),
}
REPOSITORY = "aliborji/kv-transformer"
COMMIT = "d9eafa5761ab7070d1b9838d216bd611cf9dd6b0"


def digest_of(entry):
    """Returns the digest of all fields of a record except the digest itself."""
    fields = {name: value for name, value in entry.items() if name != "record_sha256"}
    return digest(json.dumps(fields, sort_keys=True, separators=(",", ":")).encode())


def record(name, folder):
    """Returns a record of an author's file, with the figures in it and digests of the file and of the record."""
    path, index, read = RECORDS[name]
    content = (folder / path).read_bytes()
    entry = {"repository": REPOSITORY, "commit": COMMIT, "path": path, "cell": index, "reads": read.__doc__, "sha256": digest(content),
             "figures": read(content)}
    return {"record_sha256": digest_of(entry)} | entry


def as_text(entry):
    """Returns a record as JSON, with one innermost list or object per line."""
    text = json.dumps(entry, indent=1)
    text = re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda found: "[" + re.sub(r"\s*\n\s*", " ", found[1]) + "]", text)
    return re.sub(r"\{\s+([^\[\]{}]*?)\s+\}", lambda found: "{" + re.sub(r"\s*\n\s*", " ", found[1]) + "}", text) + "\n"

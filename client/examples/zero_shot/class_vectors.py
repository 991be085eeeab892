# SPDX-License-Identifier: Apache-2.0
"""Makes a vector per label with CLIP's text tower, for `vitrine-repo import --zero-shot`. Needs torch and transformers.

    python class_vectors.py openai/clip-vit-base-patch32 labels.txt vectors.npy
    vitrine-repo import my-models birds clip/ --labels labels.txt --zero-shot vectors.npy

The first argument is the model whose image tower is imported: a name on the hub or a folder. Each --template gives one
text per label. A label's vector is the mean of the vectors of its texts, which are first scaled to length 1, as in
CLIP's own evaluation.
"""
import argparse
import pathlib
import re

import numpy
import torch
import transformers


def read_labels(path):
    """Returns the labels as the import reads them. Rejects a list with numbers, quotes or brackets, because
    this function would take them as parts of the labels."""
    labels = [line.strip() for line in path.read_text(encoding="utf-8-sig").strip().split("\n")]
    is_list = re.match(r"[\[{]", labels[0]) or all(re.match(r"""\d+\s*[\s,:]|["']""", label) for label in labels)
    if is_list or not all(labels):
        raise SystemExit(f"{path}: write one label per line, without numbers, quotes, brackets and empty lines")
    return labels


def main():
    arguments = argparse.ArgumentParser(description="Makes a vector per label with CLIP's text tower.")
    arguments.add_argument("model", help="name on the hub, or folder, of a CLIPModel")
    arguments.add_argument("labels", type=pathlib.Path, help="text file, a label per line")
    arguments.add_argument("out", type=pathlib.Path, help="array of NumPy to write (.npy)")
    arguments.add_argument("--template", action="append", help='text of a label; may be repeated; default: "a photo of a {}."')
    options = arguments.parse_args()
    labels = read_labels(options.labels)
    templates = options.template or ["a photo of a {}."]
    if not all("{}" in template for template in templates):
        arguments.error("--template needs {} where the label stands")
    tower = transformers.CLIPTextModelWithProjection.from_pretrained(options.model).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(options.model)
    vectors = []
    for label in labels:
        texts = tokenizer([template.format(label) for template in templates], padding=True, return_tensors="pt")
        with torch.inference_mode():
            of_texts = tower(**texts).text_embeds
        vectors.append((of_texts / of_texts.norm(dim=1, keepdim=True)).mean(0).numpy())
    numpy.save(options.out, numpy.stack(vectors).astype("float32"))
    print(f"{options.out}: {len(labels)} vectors of {vectors[0].size} numbers")


if __name__ == "__main__":
    main()

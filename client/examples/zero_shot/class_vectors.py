# SPDX-License-Identifier: Apache-2.0
"""Makes a vector per label with CLIP's text tower, for `vitrine-repo import --zero-shot`. Needs torch and transformers.

    python class_vectors.py openai/clip-vit-base-patch32 labels.txt vectors.npy
    vitrine-repo import my-models birds clip/ --labels labels.txt --zero-shot vectors.npy

MODEL is the model whose image tower is imported: a name on the hub or a folder. Each template becomes a text per label;
the label's vector is the mean of its texts' vectors, each of length 1, as in CLIP's own evaluation.
"""
import argparse
import pathlib

import numpy
import torch
import transformers


def main():
    arguments = argparse.ArgumentParser(description="Makes a vector per label with CLIP's text tower.")
    arguments.add_argument("model", help="name on the hub, or folder, of a CLIPModel")
    arguments.add_argument("labels", type=pathlib.Path, help="text file, a label per line")
    arguments.add_argument("out", type=pathlib.Path, help="array of NumPy to write (.npy)")
    arguments.add_argument("--template", action="append", help='text of a label; may be repeated; default: "a photo of a {}."')
    options = arguments.parse_args()
    labels = options.labels.read_text(encoding="utf-8").splitlines()
    templates = options.template or ["a photo of a {}."]
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


main()

# SPDX-License-Identifier: Apache-2.0
"""Finds the pictures of a folder that look most like a given picture, with an index of faiss.

    pip install faiss-cpu, and client/python of this checkout
    python3 faiss_search.py ADDRESS MODEL FOLDER PICTURE
    python3 faiss_search.py 127.0.0.1:8500 eit-mini-cifar10 samples/cifar samples/cifar/horse-bay.jpg
"""

import sys

import faiss
import numpy
import vitrine


def main(address, model, folder, picture):
    with vitrine.Client(address) as client:
        found = []
        for each in client.embed_many(folder, model, normalize=True):
            if each.ok:
                found.append(each)
            else:
                print(f"{each.source} is left out: {each.error}", file=sys.stderr)
        wanted = next(iter(client.embed_many([picture], model, normalize=True)))
    if not wanted.ok:
        sys.exit(f"{picture}: {wanted.error}")
    # Vectors of different weights are not comparable, so an index holds the vectors of one version.
    if {each.served_by.weights_sha256 for each in found} != {wanted.served_by.weights_sha256}:
        sys.exit("the model was replaced meanwhile; run this again")
    # For vectors of length 1, the inner product is the cosine of their angle.
    index = faiss.IndexFlatIP(len(wanted.values))
    index.add(numpy.stack([each.values for each in found]))
    cosines, places = index.search(wanted.values[None], min(5, len(found)))
    for cosine, place in zip(cosines[0], places[0]):
        print(f"{cosine:.4f} {found[place].source}")


main(*sys.argv[1:])

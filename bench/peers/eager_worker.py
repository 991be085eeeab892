# SPDX-License-Identifier: Apache-2.0
"""The peer of bench_worker's forward: computes the same weights and inputs in eager PyTorch, with the same protocol.

Eager PyTorch cannot mix sizes in one batch, so each group of equal sizes is a separate batch.
"""
import argparse

import torch

import peer_model
import peer_protocol


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    peer_model.add_arguments(parser)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    model = peer_model.load(arguments)
    batches = peer_model.batches(arguments)
    with torch.inference_mode():
        [model(batch) for batch in batches]
        peer_protocol.serve(sum(map(len, batches)), f"PyTorch {torch.__version__} eager",
                            lambda: [model(batch) for batch in batches],
                            lambda: torch.cat([model(batch) for batch in batches]).tolist())


main()

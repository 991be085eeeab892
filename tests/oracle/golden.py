# SPDX-License-Identifier: Apache-2.0
"""Reads, writes and compares golden files: safetensors whose bytes depend on their content only."""
import json

import numpy
import torch

# Maximum number of values per tensor in a golden file; see sample().
SAMPLES = 320


def sample(tensor):
    """Returns all values if there are at most SAMPLES. Otherwise returns SAMPLES values from all channels and positions: the values at the
    indices 7919 j modulo the number of values."""
    flat = tensor.reshape(-1)
    if len(flat) <= SAMPLES:
        return flat
    return flat[torch.arange(SAMPLES) * 7919 % len(flat)]


def to_bytes(tensors, metadata):
    """Returns a file with fp32 tensors by name and metadata strings by name."""
    header, blobs, at = {"__metadata__": dict(sorted(metadata.items()))}, [], 0
    for name in sorted(tensors):
        blob = numpy.ascontiguousarray(tensors[name].detach().numpy().astype("<f4")).tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensors[name].shape), "data_offsets": [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + b"".join(blobs)


def from_bytes(data):
    """Returns (tensors, metadata) of a file."""
    size = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8 : 8 + size]), data[8 + size :]
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = torch.from_numpy(numpy.frombuffer(body[begin:end], "<f4").copy()).reshape(entry["shape"])
    return tensors, metadata


def differences(fresh, stored, tolerance):
    """Returns a sentence for each difference between two pairs (tensors, metadata)."""
    found = []
    for key in sorted(fresh[1].keys() | stored[1].keys()):
        if fresh[1].get(key) != stored[1].get(key):
            found.append(f"metadata {key} differs")
    for name in sorted(fresh[0].keys() | stored[0].keys()):
        if name not in fresh[0] or name not in stored[0]:
            found.append(f"{name} is in one of the two only")
            continue
        a, b = fresh[0][name], stored[0][name]
        if a.shape != b.shape:
            found.append(f"{name} has shape {list(b.shape)}, regenerated {list(a.shape)}")
            continue
        off = float((a - b).abs().max() / max(1.0, float(b.abs().max())))
        if not off <= tolerance:
            found.append(f"{name} differs by {off:.1e} of max(1, largest)")
    return found

# SPDX-License-Identifier: Apache-2.0
"""Prints what TensorBoard's own reader finds in a folder of event files: tag and steps of every scalar."""
import sys

from tensorboard.backend.event_processing import event_accumulator

events = event_accumulator.EventAccumulator(sys.argv[1], size_guidance={"scalars": 0, "tensors": 0})
events.Reload()
for tag in events.Tags()["scalars"]:
    print(tag, *[scalar.step for scalar in events.Scalars(tag)])
for tag in events.Tags()["tensors"]:
    values = [tensor.tensor_proto for tensor in events.Tensors(tag)]
    if values[0].string_val:
        print(tag, values[0].string_val[0].decode())
    else:
        print(tag, *[tensor.step for tensor in events.Tensors(tag)])
        if tag == "train/loss":
            print("last loss %.9g" % values[-1].float_val[0])
for scalar in events.Scalars("train/loss")[-1:] if "train/loss" in events.Tags()["scalars"] else []:
    print("last loss %.9g" % scalar.value)

# SPDX-License-Identifier: Apache-2.0
"""ask.py CONTRACT ADDRESS MODEL PICTURE...: prints the logits of all classes in a server's answers, one line per image."""
import pathlib
import sys

import grpc

import peer_messages

CLASSES = 1000


def main():
    contract, address, model, *pictures = sys.argv[1:]
    messages = peer_messages.Messages(contract)
    with grpc.insecure_channel(address) as channel:
        classify = channel.unary_unary(f"/{peer_messages.SERVICE}/Classify", messages.Request.SerializeToString,
                                       messages.Response.FromString)
        for picture in pictures:
            request = messages.Request(model=model, image=pathlib.Path(picture).read_bytes(), top_k=CLASSES)
            answer = classify(request, timeout=30)
            print(*(f"{one.logit:.9g}" for one in sorted(answer.predictions, key=lambda one: one.index)))


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""schedules.py EIT_LOG FASTAI > tests/golden/schedules.inc: learning rates of the programs whose training recipes Vitrine
reproduces.

EIT_LOG is model/eit-16-4-3-mini/log.txt of github.com/MrHaiPi/EIT at 40539da71e0da7c2ad54dda65da77c52be411dee. FASTAI is
fastai/callback/schedule.py of fastai 2.8.12. The interpreter needs the timm of script/pins/peers.txt.
"""
import ast
import functools
import json
import math
import pathlib
import sys

import torch
from timm.scheduler import CosineLRScheduler


def of_log(path):
    """Returns the rate of every epoch in EIT's published log."""
    return [json.loads(line)["train_lr"] for line in path.read_text().splitlines()]


def of_timm(lr, epochs):
    """Returns the rate of every epoch in XCiT's main.py, which calls step(epoch) of the scheduler after each epoch."""
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=lr)
    scheduler = CosineLRScheduler(optimizer, t_initial=epochs, lr_min=1e-5, warmup_t=5, warmup_lr_init=1e-6)
    rates = []
    for epoch in range(epochs):
        rates.append(optimizer.param_groups[0]["lr"])
        scheduler.step(epoch)
    return rates


def of_fastai(path, lr, steps):
    """Returns (rates, momenta) of fit_one_cycle with its defaults, computed by the functions in fastai's file."""
    wanted = {"sched_cos", "SchedCos", "combine_scheds", "combined_cos"}
    tree = ast.parse(path.read_text())
    tree.body = [node for node in tree.body if getattr(node, "name", "") in wanted]
    scope = {"math": math, "torch": torch, "L": list, "tensor": functools.partial(torch.tensor, dtype=torch.float64),
             "_Annealer": lambda f, start, end: functools.partial(f, start, end)}
    exec(compile(tree, str(path), "exec"), scope)
    rate = scope["combined_cos"](0.25, lr / 25, lr, lr / 1e5)
    momentum = scope["combined_cos"](0.25, 0.95, 0.85, 0.95)
    return [[float(schedule(step / steps)) for step in range(steps)] for schedule in (rate, momentum)]


def of_digits(lr, steps, warmup):
    """Returns the rate of every step of the digit tasks of the KV transformer: half a cosine period times a linear warm-up."""
    return [lr * 0.5 * (1 + math.cos(math.pi * step / steps)) * min(1, step / warmup) for step in range(steps)]


def show(name, rates):
    print(f'{{"{name}", {{')
    for i in range(0, len(rates), 5):
        print(" ".join(f"{rate!r}," for rate in rates[i:i + 5]))
    print("}},")


def main():
    log, fastai = map(pathlib.Path, sys.argv[1:])
    print("// Written by tests/oracle/schedules.py, which names the sources; do not edit.")
    show("eit-log", of_log(log))
    show("timm", of_timm(4e-3, 400))
    rates, momenta = of_fastai(fastai, 1e-3, 60)
    show("fastai", rates)
    show("fastai-momentum", momenta)
    show("digits", of_digits(1e-3, 60, 5))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""The peer of vitrine-gpu-check --throughput: models of timm in PyTorch, compiled with max-autotune, on a GPU.

Prints the median, lowest and highest images/s of several windows: for a batch that stays on the device, and for batches that are
copied from pinned memory. The next batch is copied on a separate stream during the pass.
Weights are random. Each model is compiled once. With --beside, a command runs between rounds, so that the peer and the command
are measured in turn: --beside 'DIR/run --profile {model} --throughput {model} --batch {batch} --precision {precision}'.
Exits with code 77 and an explanation if torch, timm or a GPU is missing.
"""
import argparse
import shlex
import statistics
import subprocess
import sys
import time

NAMES = {"xcit-n12": "xcit_nano_12_p16_224", "xcit-t12": "xcit_tiny_12_p16_224", "vit-ti16": "vit_tiny_patch16_224"}


def windows(torch, step, images, seconds, count=5):
    """Returns the images per second of each window. The host's clock measures the time of synchronized passes."""
    step()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    step()
    torch.cuda.synchronize()
    passes = max(1, int(seconds / max(time.perf_counter() - begin, 1e-6)))
    rates = []
    for _ in range(count):
        begin = time.perf_counter()
        for _ in range(passes):
            step()
        torch.cuda.synchronize()
        rates.append(images * passes / (time.perf_counter() - begin))
    return rates


class Copied:
    """Computes batches that are copied from pinned memory; the next batch is copied during the computation."""

    def __init__(self, torch, model, batch):
        self.torch, self.model = torch, model
        self.hosts = [batch.cpu().pin_memory() for _ in range(2)]
        self.devices = [torch.empty_like(batch) for _ in range(2)]
        self.copies = torch.cuda.Stream()
        self.copied = [torch.cuda.Event() for _ in range(2)]
        self.used = [torch.cuda.Event() for _ in range(2)]
        self.place = 0
        self.start(0)

    def start(self, place):
        with self.torch.cuda.stream(self.copies):
            self.copies.wait_event(self.used[place])
            self.devices[place].copy_(self.hosts[place], non_blocking=True)
            self.copied[place].record(self.copies)

    def __call__(self):
        place, self.place = self.place, 1 - self.place
        self.start(self.place)
        self.torch.cuda.current_stream().wait_event(self.copied[place])
        logits = self.model(self.devices[place])
        self.used[place].record()
        return logits


def run_beside(command):
    """Runs a command and prints its results, one per line."""
    done = subprocess.run(shlex.split(command), stdout=subprocess.PIPE, text=True, check=False)
    for line in done.stdout.splitlines():
        if line.startswith(("ok ", "FAILED ")):
            print(line, flush=True)


def measure(torch, timm, name, precision, batch, seconds, rounds, beside):
    torch._dynamo.reset()
    images = torch.randn(batch, 3, 224, 224, device="cuda")
    model = timm.create_model(NAMES[name], pretrained=False).eval().cuda()
    if precision == "bf16":  # weights, activations and input
        model, images = model.bfloat16(), images.bfloat16()
    begin = time.perf_counter()
    compiled = torch.compile(model, mode="max-autotune", dynamic=False)
    with torch.inference_mode():
        for _ in range(3):
            compiled(images)
        torch.cuda.synchronize()
        print(f"{name} {precision} batch {batch}: compiled in {time.perf_counter() - begin:.0f} s", file=sys.stderr)
        steps = (("on the device", lambda: compiled(images)),
                 ("copied from pinned memory", Copied(torch, compiled, images)))
        for _ in range(rounds):
            for where, step in steps:
                rates = windows(torch, step, batch, seconds)
                print(f"torch.compile max-autotune {name} {precision} batch {batch}, {where}: "
                      f"{statistics.median(rates):.0f} images/s ({min(rates):.0f} to {max(rates):.0f})", flush=True)
            if beside:
                run_beside(beside.format(model=name, precision=precision, batch=batch))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default="xcit-n12,xcit-t12,vit-ti16", help=", ".join(NAMES))
    parser.add_argument("--precision", default="bf16", choices=["fp32", "bf16"])
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=0.5, help="of a window")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--beside", default="", help="command between rounds; {model}, {precision}, {batch} are replaced")
    arguments = parser.parse_args()
    try:
        import timm
        import torch
    except ImportError as error:
        print(f"torch_compile_worker: {error}; install torch and timm to compare", file=sys.stderr)
        return 77
    if not torch.cuda.is_available():
        print("torch_compile_worker: torch finds no CUDA device", file=sys.stderr)
        return 77
    print(f"PyTorch {torch.__version__}, timm {timm.__version__}, {torch.cuda.get_device_name()}", flush=True)
    torch.set_float32_matmul_precision("high")
    failed = 0
    for name in arguments.models.split(","):
        try:
            measure(torch, timm, name, arguments.precision, arguments.batch, arguments.seconds, arguments.rounds,
                    arguments.beside)
        except Exception as error:  # the other models are still measured
            print(f"torch_compile_worker: {name}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())

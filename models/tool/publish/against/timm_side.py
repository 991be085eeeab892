# SPDX-License-Identifier: Apache-2.0
"""The timm side of `vitrine-repo verify --against timm`, run by the interpreter of --python.

Stdin is a socket. Each message, in both directions, is a line of JSON and then bytes; the member "bytes" of the JSON is the
number of these bytes. The first message has the model's name, its weights with timm's names, and settings that replace those of
timm's configuration. The answer to it has the versions of the packages and the configuration. Each later message has an image.
The answer to it has the model's input and then the logits, as floats. An answer with "error" or "lacks" is the last message.
"""
import io
import json
import socket

stream = socket.socket(fileno=0).makefile("rwb")


def receive():
    line = stream.readline()
    if not line:
        return None, b""
    request = json.loads(line)
    return request, stream.read(request["bytes"])


def send(answer, payload=b""):
    stream.write(json.dumps({**answer, "bytes": len(payload)}).encode() + b"\n" + payload)
    stream.flush()


def load(request, weights, timm, torch, safetensors):
    options = {"pretrained": False, "num_classes": request["classes"]}
    model = timm.create_model(request["arch"], **options)
    config = timm.data.resolve_model_data_config(model)
    if config["input_size"] != tuple(request["config"].get("input_size", config["input_size"])):
        model = timm.create_model(request["arch"], **options, dynamic_img_size=True)
    model.eval()
    found = model.load_state_dict(safetensors.load(weights), strict=False)
    missing = [name for name in found.missing_keys if not name.endswith("num_batches_tracked")]
    if missing or found.unexpected_keys:
        raise ValueError(f"its {request['arch']} has other tensors: {(missing + found.unexpected_keys)[0]}")
    return model, {**config, **request["config"]}


def serve(timm, torch, safetensors, pillow):
    model, config = load(*receive(), timm, torch, safetensors)
    transform = timm.data.create_transform(**config, is_training=False)
    told = {name: config[name] for name in ("input_size", "mean", "std", "crop_pct", "crop_mode", "interpolation")}
    send({"versions": f"timm {timm.__version__}, torch {torch.__version__}, Pillow {pillow.__version__}", "config": told})
    while True:
        request, picture = receive()
        if request is None:
            return
        try:
            image = pillow.ImageOps.exif_transpose(pillow.Image.open(io.BytesIO(picture))).convert("RGB")
        except Exception as fault:
            send({"unread": f"{type(fault).__name__}: {fault}"})
            continue
        tensor = transform(image)
        with torch.inference_mode():
            logits = model(tensor[None])[0]
        send({"shape": list(tensor.shape)}, b"".join(values.float().contiguous().numpy().tobytes() for values in (tensor, logits)))


def main():
    try:
        import PIL
        import PIL.Image
        import PIL.ImageOps
        import safetensors.torch
        import timm
        import timm.data
        import torch
    except ImportError as fault:
        return send({"lacks": str(fault)})
    try:
        serve(timm, torch, safetensors.torch, PIL)
    except Exception as fault:
        send({"error": f"{type(fault).__name__}: {fault}"})


main()

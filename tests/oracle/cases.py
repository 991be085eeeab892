# SPDX-License-Identifier: Apache-2.0
"""The cases to compare: models, each with its images. There is one golden file per case."""
import dataclasses

from textproto import Word


@dataclasses.dataclass
class Case:
    name: str  # also the key from which weights and images are hashed
    config: dict  # the ModelConfig of the same model
    sizes: list  # (height, width) of its images
    arch: str = ""  # timm's name; if empty, the oracle is built from the config
    options: dict = dataclasses.field(default_factory=dict)  # arguments of timm.create_model


def native(cell, channels=3):
    return {"channels": channels, "native": {"cell": cell, "min_tokens": 1, "max_tokens": 1024}}


def fixed(side, channels=3):
    return {"channels": channels, "fixed": {"height": side, "width": side, "fit": Word("STRETCH")}}


DINOV2 = [(224, 224), (224, 224), (112, 182), (308, 252)]
LARGE = [(224, 224), (224, 224), (384, 384), (160, 256)]


def timm_xcit(arch, width, heads, tokens_norm):
    config = {"patch": 16, "width": width, "depth": 12, "class_depth": 2, "heads": heads, "mlp_width": 4 * width,
              "tokens_norm": tokens_norm}
    return Case("timm-" + arch, {"preprocessing": native(16), "classes": 1000, "xcit": config}, LARGE, arch)


def timm_vit(arch, patch, width, heads, side=224, classes=1000, sizes=LARGE, **changes):
    config = {"patch": patch, "width": width, "depth": 12, "heads": heads, "mlp_width": 4 * width,
              "grid_rows": side // patch, "grid_columns": side // patch} | changes
    return Case("timm-" + arch, {"preprocessing": native(patch), "classes": classes, "vit": config}, sizes, arch,
                {"img_size": side, "num_classes": classes, "dynamic_img_size": True})


TIMM = [
    timm_xcit("xcit_nano_12_p16_224", 128, 4, False),
    timm_xcit("xcit_tiny_12_p16_224", 192, 4, True),
    timm_xcit("xcit_small_12_p16_224", 384, 8, True),
    timm_vit("vit_tiny_patch16_224", 16, 192, 3),
    timm_vit("vit_small_patch16_224", 16, 384, 6),
    timm_vit("vit_base_patch32_224", 32, 768, 12, sizes=[(224, 224), (224, 224), (384, 256)]),
    # DeiT without a distillation token has the architecture of ViT. This case has another number of classes and a
    # position table for 384 x 384 pixels.
    timm_vit("deit_tiny_patch16_224", 16, 192, 3, 384, 100, [(384, 384), (224, 224), (224, 224), (192, 320)]),
    timm_vit("deit_small_patch16_224", 16, 384, 6, 224, 21),
    timm_vit("deit_tiny_distilled_patch16_224", 16, 192, 3, 224, 21, distilled=True),
    timm_vit("vit_small_patch14_dinov2", 14, 384, 6, 224, 0, DINOV2, layer_scale=1e-5),
    timm_vit("vit_small_patch14_reg4_dinov2", 14, 384, 6, 224, 0, DINOV2, layer_scale=1e-5, registers=4,
             prefix_positions=Word("NO_TOKEN")),
    timm_vit("vit_base_patch32_clip_quickgelu_224", 32, 768, 12, 224, 0, [(224, 224), (224, 224), (384, 256)], input_norm=True,
             norm_epsilon=1e-5, activation=Word("QUICK_GELU")),
]


def transformers_vit(model, patch, side, classes, options, **changes):
    """Returns a case with a small model of transformers. `options` are further arguments of its configuration."""
    size = {"width": 40, "depth": 3, "heads": 5}
    config = {"patch": patch, "mlp_width": 160, "grid_rows": side // patch, "grid_columns": side // patch} | size | changes
    if model == "clip":
        options = options | {"intermediate_size": 160}
    known = {"hidden_size": 40, "num_hidden_layers": 3, "num_attention_heads": 5, "image_size": side, "patch_size": patch} | options
    sizes = [(side, side), (side, side), (side // 2, side + 3 * patch), (2 * side, side)]
    return Case("transformers-" + model, {"preprocessing": native(patch), "classes": classes, "vit": config}, sizes,
                "transformers/" + model, known)


TRANSFORMERS = [
    transformers_vit("deit", 16, 128, 7, {"intermediate_size": 160, "num_labels": 7}, distilled=True, norm_epsilon=1e-12,
                     position_resize=Word("BICUBIC_SHARP")),
    transformers_vit("dinov2", 14, 112, 0, {}, layer_scale=1.0, position_resize=Word("BICUBIC_SHARP")),
    transformers_vit("clip", 16, 128, 0, {"projection_dim": 24}, input_norm=True, norm_epsilon=1e-5, projection=24,
                     activation=Word("QUICK_GELU"), position_resize=Word("BICUBIC_SHARP")),
    transformers_vit("dinov2-with-registers", 14, 112, 0, {}, layer_scale=1.0, registers=4),
]

SMALL_XCIT = [(64, 64), (64, 64), (48, 112)]


def xcit(name, sizes=SMALL_XCIT, classes=10, **changes):
    config = {"patch": 16, "width": 32, "depth": 3, "class_depth": 2, "heads": 4, "mlp_width": 96} | changes
    return Case(name, {"preprocessing": native(config["patch"]), "classes": classes, "xcit": config}, sizes)


def xvit(name, sizes=SMALL_XCIT, classes=10, **changes):
    config = {"patch": 16, "width": 32, "depth": 3, "class_depth": 2, "heads": 4, "attention_width": 24,
              "mlp_width": 96} | changes
    return Case(name, {"preprocessing": native(config["patch"]), "classes": classes, "xvit": config}, sizes)


def embedded(kind, width, **more):
    return {"embedding": Word(kind), "embedding_width": width} | more


XCIT = [
    xcit("xcit-linear"),
    xcit("xcit-tokens-norm", tokens_norm=True),
    xcit("xcit-patch8", patch=8, sizes=[(32, 32), (32, 32), (24, 64)], tokens_norm=True),
    xcit("xcit-sne", **embedded("SNE", 20)),
    xcit("xcit-sne-3-layers", **embedded("SNE", 20, embedding_layers=3)),
    xcit("xcit-sne-4-layers", **embedded("SNE", 20, embedding_layers=4)),
    xcit("xcit-p-sne", **embedded("P_SNE", 24)),
    xcit("xcit-f-sne", **embedded("F_SNE", 28, code_length=8)),
    xcit("xcit-f-sne-per-block", **embedded("F_SNE", 28, code_length=5, codes_per_block=True)),
    xcit("xcit-n12-f-sne-8", [(224, 224), (224, 224), (160, 256)], 1000, width=128, depth=12, mlp_width=512,
         **embedded("F_SNE", 186, code_length=8)),
]

XVIT = [
    xvit("xvit-contracted", norm_axis=Word("CONTRACTED")),
    xvit("xvit-last", norm_axis=Word("LAST")),
    xvit("xvit-softmax", mixer=Word("SOFTMAX")),
    xvit("xvit-xca", mixer=Word("XCA")),
    xvit("xvit-no-norm", [(32, 32), (32, 32), (32, 48)], mixer=Word("NONE")),
    xvit("xvit-depthwise", local=Word("DEPTHWISE")),
    xvit("xvit-patches", stem=Word("PATCHES")),
    xvit("xvit-patch8", patch=8, sizes=[(32, 32), (32, 32), (24, 64)]),
    xvit("xvit-t", [(224, 224), (224, 224), (160, 256)], 1000, width=192, depth=24, attention_width=96, mlp_width=768),
]

SMALL_EIT = [(32, 32), (32, 32), (24, 40), (37, 30)]


def eit(name, sizes=SMALL_EIT, **changes):
    config = {"width": 40, "depth": 4, "heads": 4, "mlp_width": 80, "pool": 4, "grid_rows": 8, "grid_columns": 8} | changes
    return Case(name, {"preprocessing": native(config["pool"]), "classes": 10, "eit": config}, sizes)


def baseline(name, patches, mixer, cell=4, **changes):
    config = {"width": 42, "depth": 3, "heads": 6, "mlp_width": 80, "patches": Word(patches), "mixer": Word(mixer),
              "grid_rows": 32 // cell, "grid_columns": 32 // cell} | changes
    return Case(name, {"preprocessing": native(cell), "classes": 10, "eit_baseline": config}, SMALL_EIT)


EIT = [
    eit("eit"),
    eit("eit-pool3", pool=3, grid_rows=10, grid_columns=10),
    eit("eit-p-only", conv_channels=False),
    eit("eit-t-only", conv_projection=False),
    eit("eit-increasing", schedule=Word("INCREASING")),
    eit("eit-invariant", schedule=Word("INVARIANT")),
    eit("eit-conv-conv", convolution=Word("CONV_CONV")),
    eit("eit-gelu-conv", convolution=Word("GELU_CONV")),
    eit("eit-bn-relu", convolution=Word("BN_RELU")),
    eit("eit-parallel", conv_channels=False, parallel_convolution=True, positions=False, grid_rows=0, grid_columns=0),
    eit("eit-no-positions", positions=False, grid_rows=0, grid_columns=0),
    eit("eit34-mini", width=250, depth=5, heads=10, mlp_width=1000),
    baseline("eit-baseline-vit", "LINEAR", "ATTENTION"),
    baseline("eit-baseline-lsra", "LINEAR", "LSRA"),
    baseline("eit-baseline-cvt-p", "OVERLAPPING", "ATTENTION", 2),
    baseline("eit-baseline-cvt-t", "LINEAR", "CONVOLVED_QKV"),
    baseline("eit-baseline-cvt-p-t", "OVERLAPPING", "CONVOLVED_QKV", 2),
    baseline("eit-baseline-vit-c", "STEM", "ATTENTION"),
]


def vit(name, sizes=SMALL_EIT, classes=10, **changes):
    config = {"patch": 4, "width": 40, "depth": 3, "heads": 5, "mlp_width": 96, "grid_rows": 8, "grid_columns": 8} | changes
    return Case(name, {"preprocessing": native(config["patch"]), "classes": classes, "vit": config}, sizes)


VIT = [
    vit("vit-pre"),
    vit("vit-post", norm=Word("POST")),
    vit("vit-epsilon", patch=8, grid_rows=3, grid_columns=5, norm_epsilon=1e-3, sizes=[(32, 32), (24, 40), (40, 56)]),
    vit("vit-ti16-post", [(224, 224), (224, 224), (160, 256)], 1000, patch=16, width=192, depth=12, heads=3, mlp_width=768,
        grid_rows=14, grid_columns=14, norm=Word("POST")),
]


def kv(name, attention, channels=1, **changes):
    config = {"patch": 7, "width": 24, "depth": 2, "heads": 4, "mlp_width": 24, "attention": Word(attention),
              "grid_rows": 4, "grid_columns": 4} | changes
    side = config["patch"] * config["grid_rows"]
    return Case(name, {"preprocessing": fixed(side, channels), "classes": 10, "kv": config}, 3 * [(side, side)])


KV = [
    kv("kv", "KV"),
    kv("kv-qkv", "QKV"),
    kv("kv-pos", "KV_POS", position_channels=10),
    kv("kv-pos-odd", "KV_POS", position_channels=19, score_scale=Word("HEAD_WIDTH")),
    kv("kv-head-scale", "KV", score_scale=Word("HEAD_WIDTH")),
    kv("kv-pos-cifar10", "KV_POS", 3, patch=4, grid_rows=8, grid_columns=8, width=64, mlp_width=64, position_channels=50),
]

# Models with exact GELU, whose weights have OpenCLIP's names. timm's own loader converts these names.
OPENCLIP = [
    Case("openclip-vit-b-32",
         {"preprocessing": native(32), "classes": 0,
          "vit": {"patch": 32, "width": 768, "depth": 12, "heads": 12, "mlp_width": 3072, "grid_rows": 7, "grid_columns": 7,
                  "input_norm": True, "norm_epsilon": 1e-5, "projection": 512}},
         [(224, 224), (224, 224), (160, 288)], "openclip/vit_base_patch32_clip_224"),
]

CASES = TIMM + TRANSFORMERS + OPENCLIP + XCIT + XVIT + EIT + VIT + KV

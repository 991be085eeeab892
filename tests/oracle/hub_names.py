# SPDX-License-Identifier: Apache-2.0
"""The models that hub_models.py tries, grouped by the feature that Vitrine would need to serve them.

A name without a slash is a model tag of timm. Models of transformers are made from the published sizes with random
weights, because their configurations are only on the hub, which hub_models.py does not contact.
"""
from transformers import BitImageProcessorPil, DeiTImageProcessorPil, ViTImageProcessorPil

IMAGENET = {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}
TINY, SMALL, BASE, LARGE, HUGE, GIANT = (
    {"hidden_size": width, "num_hidden_layers": depth, "num_attention_heads": heads, "intermediate_size": 4 * width}
    for width, depth, heads in ((192, 12, 3), (384, 12, 6), (768, 12, 12), (1024, 24, 16), (1280, 32, 16), (1536, 40, 24)))
VIT, BODY = "ViTForImageClassification", "ViTModel"


def square(side=224, **more):
    return ViTImageProcessorPil(size={"height": side, "width": side}, **more)


def cropped(scaled=256, side=224):
    return BitImageProcessorPil(size={"shortest_edge": scaled}, crop_size={"height": side, "width": side}, **IMAGENET)


def vit(size, patch, side, kind=VIT, processor=None, **more):
    labels = {"num_labels": 1000} if kind == VIT else {}
    return kind, {**size, "patch_size": patch, "image_size": side, **labels, **more}, processor or square(side)


def plain(kind, processor=None, **options):
    return kind, options, processor or square()


def deit(size, kind=VIT):
    return kind, {**size, "num_labels": 1000}, DeiTImageProcessorPil(**IMAGENET)


def dinov2(size, registers=False, **more):
    kind = "Dinov2WithRegistersModel" if registers else "Dinov2Model"
    options = {name: value for name, value in size.items() if name != "intermediate_size"}
    return kind, {**options, "image_size": 518, "patch_size": 14, **more}, cropped()


def dinov2_head(size):
    return "Dinov2ForImageClassification", {**dinov2(size)[1], "num_labels": 1000}, cropped()


# For each name: the class, its configuration and its preprocessing.
TRANSFORMERS = {
    "google/vit-base-patch16-224": vit(BASE, 16, 224),
    "google/vit-base-patch16-384": vit(BASE, 16, 384),
    "google/vit-base-patch32-384": vit(BASE, 32, 384),
    "google/vit-large-patch16-224": vit(LARGE, 16, 224),
    "google/vit-base-patch16-224-in21k": vit(BASE, 16, 224, BODY),
    "google/vit-large-patch16-224-in21k": vit(LARGE, 16, 224, BODY),
    "facebook/dino-vits16": vit(SMALL, 16, 224, BODY, square(resample=3, **IMAGENET)),
    "facebook/dino-vits8": vit(SMALL, 8, 224, BODY, square(resample=3, **IMAGENET)),
    "facebook/dino-vitb16": vit(BASE, 16, 224, BODY, square(resample=3, **IMAGENET)),
    "facebook/dino-vitb8": vit(BASE, 8, 224, BODY, square(resample=3, **IMAGENET)),
    "facebook/deit-tiny-patch16-224": deit(TINY),
    "facebook/deit-small-patch16-224": deit(SMALL),
    "facebook/deit-base-patch16-224": deit(BASE),
    "facebook/deit-tiny-distilled-patch16-224": deit(TINY, "DeiTForImageClassificationWithTeacher"),
    "facebook/deit-base-distilled-patch16-224": deit(BASE, "DeiTForImageClassificationWithTeacher"),
    "facebook/dinov2-small": dinov2(SMALL),
    "facebook/dinov2-base": dinov2(BASE),
    "facebook/dinov2-large": dinov2(LARGE),
    "facebook/dinov2-giant": dinov2(GIANT, use_swiglu_ffn=True),
    "facebook/dinov2-with-registers-small": dinov2(SMALL, True),
    "facebook/dinov2-with-registers-base": dinov2(BASE, True),
    "facebook/dinov2-with-registers-large": dinov2(LARGE, True),
    "facebook/dinov2-small-imagenet1k-1-layer": dinov2_head(SMALL),
    "facebook/dinov2-base-imagenet1k-1-layer": dinov2_head(BASE),
    "microsoft/rad-dino": (*dinov2(BASE)[:2], cropped(518, 518)),
    "facebook/dinov3-vits16-pretrain-lvd1689m": plain("DINOv3ViTModel", **SMALL),
    "facebook/dinov3-vitb16-pretrain-lvd1689m": plain("DINOv3ViTModel", **BASE),
    "facebook/dinov3-vitl16-pretrain-lvd1689m": plain("DINOv3ViTModel", **LARGE),
    "facebook/vit-mae-base": plain("ViTMAEForPreTraining", square(**IMAGENET)),
    "facebook/vit-mae-large": plain("ViTMAEForPreTraining", square(**IMAGENET), **LARGE),
    "facebook/vit-msn-small": plain("ViTMSNModel", **SMALL),
    "facebook/ijepa_vith14_1k": plain("IJepaModel", **HUGE, patch_size=14),
    "openai/clip-vit-base-patch32": plain("CLIPModel"),
    "openai/clip-vit-base-patch16": plain("CLIPModel", vision_config={"patch_size": 16}),
    "google/siglip-base-patch16-224": plain("SiglipModel"),
    "google/siglip2-base-patch16-224": plain("SiglipModel", text_config={"vocab_size": 256000}),
    "microsoft/beit-base-patch16-224": plain("BeitForImageClassification"),
    "microsoft/dit-base": plain("BeitModel"),
    "facebook/data2vec-vision-base": plain("Data2VecVisionModel"),
    "microsoft/swin-tiny-patch4-window7-224": plain("SwinForImageClassification"),
    "microsoft/swinv2-tiny-patch4-window8-256": plain("Swinv2ForImageClassification", image_size=256, window_size=8),
    "facebook/sam-vit-base": plain("SamModel"),
    "hustvl/yolos-tiny": plain("YolosForObjectDetection", **TINY),
}

# SERVED lists the models that Vitrine serves. NEEDS lists the other models by the feature that Vitrine lacks.
SERVED = """
    vit_tiny_patch16_224.augreg_in21k_ft_in1k vit_tiny_patch16_384.augreg_in21k_ft_in1k vit_small_patch16_224.augreg_in21k_ft_in1k
    vit_small_patch16_384.augreg_in21k_ft_in1k vit_small_patch32_224.augreg_in21k_ft_in1k vit_base_patch16_224.augreg2_in21k_ft_in1k
    vit_base_patch16_224.augreg_in21k vit_base_patch16_224.orig_in21k_ft_in1k vit_base_patch16_224.sam_in1k
    vit_base_patch16_384.augreg_in21k_ft_in1k vit_base_patch32_224.augreg_in21k_ft_in1k vit_base_patch32_384.augreg_in21k_ft_in1k
    vit_large_patch16_224.augreg_in21k_ft_in1k deit_tiny_patch16_224.fb_in1k deit_small_patch16_224.fb_in1k deit_base_patch16_224.fb_in1k
    deit_base_patch16_384.fb_in1k deit_tiny_distilled_patch16_224.fb_in1k deit_small_distilled_patch16_224.fb_in1k
    deit_base_distilled_patch16_224.fb_in1k vit_small_patch14_dinov2.lvd142m vit_base_patch14_dinov2.lvd142m
    vit_small_patch14_reg4_dinov2.lvd142m vit_base_patch14_reg4_dinov2.lvd142m xcit_nano_12_p16_224.fb_dist_in1k
    xcit_tiny_12_p16_224.fb_dist_in1k xcit_tiny_24_p16_224.fb_dist_in1k xcit_small_12_p16_224.fb_dist_in1k xcit_small_12_p8_224.fb_dist_in1k
    google/vit-base-patch16-224 google/vit-base-patch16-384 google/vit-base-patch32-384 google/vit-large-patch16-224 facebook/dinov2-small
    facebook/dinov2-base facebook/dinov2-with-registers-small facebook/dinov2-with-registers-base
    vit_base_patch8_224.augreg2_in21k_ft_in1k vit_large_patch14_dinov2.lvd142m vit_large_patch14_reg4_dinov2.lvd142m
    facebook/dinov2-large facebook/dinov2-with-registers-large vit_small_patch16_224.dino vit_base_patch16_224.dino
    vit_base_patch16_224.mae vit_large_patch16_224.mae vit_base_patch16_224.orig_in21k facebook/dino-vits16 facebook/dino-vitb16
    google/vit-base-patch16-224-in21k google/vit-large-patch16-224-in21k vit_small_patch8_224.dino vit_base_patch8_224.dino
    facebook/dino-vits8 facebook/dino-vitb8 vit_base_patch32_clip_224.openai vit_base_patch16_clip_224.openai
    openai/clip-vit-base-patch32 openai/clip-vit-base-patch16 vit_base_patch32_clip_224.laion2b_ft_in12k_in1k
    vit_base_patch16_clip_224.laion2b_ft_in12k_in1k vit_large_patch14_clip_224.openai"""
NEEDS = {
    "next: images of 518 pixels": "microsoft/rad-dino",
    "next: its size; no position of the class token": "flexivit_base.1200ep_in1k",
    "next: its sizes; LayerScale with a head; no position of the class token": """
        deit3_small_patch16_224.fb_in22k_ft_in1k deit3_medium_patch16_224.fb_in22k_ft_in1k deit3_base_patch16_224.fb_in22k_ft_in1k
        deit3_base_patch16_384.fb_in22k_ft_in1k deit3_large_patch16_224.fb_in22k_ft_in1k""",
    "next: its type (`vit_msn`); a ViT without a head": "facebook/vit-msn-small",
    "next: a preprocessing that stretches, then crops": """
        facebook/deit-tiny-patch16-224 facebook/deit-small-patch16-224 facebook/deit-base-patch16-224
        facebook/deit-tiny-distilled-patch16-224 facebook/deit-base-distilled-patch16-224""",
    "next: query, key and value without bias": "vit_base_patch16_224_miil.in21k_ft_in1k",
    "next: a head on the class token and the mean of the patches":
        "facebook/dinov2-small-imagenet1k-1-layer facebook/dinov2-base-imagenet1k-1-layer",
    "next: its size": "vit_large_patch14_clip_336.openai",
    "later: the mean of the patches, without a class token": """
        vit_medium_patch16_reg4_gap_256.sbb_in12k_ft_in1k vit_betwixt_patch16_reg4_gap_256.sbb2_e200_in12k_ft_in1k
        vit_mediumd_patch16_reg4_gap_384.sbb2_e200_in12k_ft_in1k vit_base_patch16_siglip_gap_224.webli facebook/ijepa_vith14_1k""",
    "later: SwiGLU": "vit_giant_patch14_dinov2.lvd142m facebook/dinov2-giant",
    "later: attention pooling, without a class token": """
        vit_base_patch16_siglip_224.webli vit_base_patch16_siglip_384.v2_webli vit_so400m_patch14_siglip_384.webli
        google/siglip-base-patch16-224 google/siglip2-base-patch16-224""",
    "later: the encoder of a model for reconstruction": "facebook/vit-mae-base facebook/vit-mae-large",
    "later: relative position bias; the mean of the patches": """
        beit_base_patch16_224.in22k_ft_in22k_in1k beit_large_patch16_224.in22k_ft_in22k_in1k beitv2_base_patch16_224.in1k_ft_in22k_in1k
        vit_relpos_base_patch16_224.sw_in1k microsoft/beit-base-patch16-224 microsoft/dit-base facebook/data2vec-vision-base""",
    "later: rotary positions": """
        vit_small_patch16_dinov3.lvd1689m vit_base_patch16_dinov3.lvd1689m vit_large_patch16_dinov3.lvd1689m
        vit_base_patch16_rope_reg1_gap_256.sbb_in1k facebook/dinov3-vits16-pretrain-lvd1689m
        facebook/dinov3-vitb16-pretrain-lvd1689m facebook/dinov3-vitl16-pretrain-lvd1689m""",
    "later: rotary positions; attention pooling": "vit_pe_core_base_patch16_224.fb",
    "later: rotary positions; SwiGLU; the mean of the patches": """
        eva02_tiny_patch14_336.mim_in22k_ft_in1k eva02_small_patch14_336.mim_in22k_ft_in1k
        eva02_base_patch14_448.mim_in22k_ft_in22k_in1k eva02_large_patch14_448.mim_m38m_ft_in22k_in1k""",
    "later: windows": """
        swin_tiny_patch4_window7_224.ms_in1k swin_base_patch4_window7_224.ms_in22k_ft_in1k swinv2_tiny_window8_256.ms_in1k
        samvit_base_patch16.sa1b hiera_base_224.mae_in1k_ft_in1k microsoft/swin-tiny-patch4-window7-224
        microsoft/swinv2-tiny-patch4-window8-256 facebook/sam-vit-base""",
    "later: class attention after all blocks, talking heads": "cait_xxs24_224.fb_dist_in1k cait_s24_224.fb_dist_in1k",
    "later: a stem of convolutions": "vit_small_r26_s32_224.augreg_in21k_ft_in1k vit_base_r50_s16_384.orig_in21k_ft_in1k",
    "later: detection": "hustvl/yolos-tiny",
}

// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/export/library_files.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "models/families/family.h"
#include "models/repository/foreign/import.h"

namespace vitrine {
namespace {

using Json = nlohmann::ordered_json;

constexpr float kTimmEpsilon = 1e-6F;  // epsilon of every LayerNorm; timm's config has no field for it

absl::Status Refused(const v1::Manifest& manifest, const std::string& why) {
  return absl::FailedPreconditionError(absl::StrCat(manifest.model(), "/", manifest.version(), " ", why));
}

absl::Status NoSuchFamily(const v1::Manifest& manifest, const std::string& library, const std::string& families) {
  ASSIGN_OR_RETURN(const Family* family, ValidatedFamily(manifest.config()));
  return Refused(manifest, absl::StrCat("is of the family ", family->name, ", which ", library,
                                        " does not have; models of these families can be exported: ", families));
}

absl::Status CheckVit(const v1::Manifest& manifest, const std::string& library) {
  const v1::VitConfig& vit = manifest.config().vit();
  if (vit.norm() != v1::VitConfig::POST) return absl::OkStatus();
  return Refused(manifest,
                 absl::StrCat("is a ViT with LayerNorm behind its blocks, which ", library, " does not have"));
}

absl::Status CheckXcit(const v1::Manifest& manifest) {
  const v1::XcitConfig::Embedding embedding = manifest.config().xcit().embedding();
  if (embedding == v1::XcitConfig::EMBEDDING_UNSPECIFIED || embedding == v1::XcitConfig::LINEAR) {
    return absl::OkStatus();
  }
  return Refused(manifest, absl::StrCat("is an XCiT with the QKV embedding ", v1::XcitConfig::Embedding_Name(embedding),
                                        ", which timm does not have"));
}

struct Size {
  int height = 0, width = 0;
};

// Returns the input size for a library whose models have one input size: for a ViT, the size of the position table in
// pixels; for XCiT, the fixed size, or the largest square that the native resolution allows.
Size InputSize(const v1::ModelConfig& config) {
  const v1::Preprocessing& preprocessing = config.preprocessing();
  if (config.has_vit()) {
    return {config.vit().grid_rows() * config.vit().patch(), config.vit().grid_columns() * config.vit().patch()};
  }
  if (preprocessing.has_fixed()) return {preprocessing.fixed().height(), preprocessing.fixed().width()};
  const v1::NativeResolution& native = preprocessing.native();
  const int side = native.cell() * static_cast<int>(std::sqrt(native.max_tokens()));
  return {side, side};
}

std::vector<std::string> NotesOf(const v1::ModelConfig& config, const std::string& library) {
  const v1::Preprocessing& preprocessing = config.preprocessing();
  const Size size = InputSize(config);
  std::vector<std::string> notes;
  if (preprocessing.has_native()) {
    notes.push_back(absl::StrFormat("here each image has its own size; %s stretches it to %d x %d", library,
                                    size.height, size.width));
  } else if (preprocessing.fixed().height() != size.height || preprocessing.fixed().width() != size.width) {
    notes.push_back(absl::StrFormat("here the input has %d x %d pixels; %s has the %d x %d of the position table",
                                    preprocessing.fixed().height(), preprocessing.fixed().width(), library, size.height,
                                    size.width));
  }
  if (preprocessing.rounding() != v1::Preprocessing::PILLOW) {
    notes.push_back(absl::StrCat("here the resized image is not rounded; ", library, " rounds it to bytes"));
  }
  if (preprocessing.decode() == v1::Preprocessing::REDUCED) {
    notes.push_back(
        absl::StrCat("here large images are decoded at a part of their size; ", library, " decodes all pixels"));
  }
  if (config.vit().position_resize() != v1::VitConfig::ANTIALIASED && library == "timm") {
    notes.push_back("at other sizes, timm resizes positions in another way (with antialiasing)");
  }
  return notes;
}

bool IsCropped(const v1::Preprocessing& preprocessing) {
  return preprocessing.has_fixed() && preprocessing.fixed().fit() == v1::FixedResolution::CENTER_CROP;
}

double CropOf(const v1::Preprocessing& preprocessing) {
  const double crop = preprocessing.fixed().crop();
  return crop == 0 ? 1 : crop;
}

std::string AsText(const Json& json) {
  return json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

// Returns the double with the fewest decimal digits that rounds to `value`: 0.485, not 0.48500001430511475.
double Shortest(float value) {
  char text[32];
  const auto end = std::to_chars(std::begin(text), std::end(text), value).ptr;
  double shortest = 0;
  std::from_chars(text, end, shortest);
  return shortest;
}

Json ShortFloats(const google::protobuf::RepeatedField<float>& values) {
  Json json = Json::array();
  for (const float value : values) json.push_back(Shortest(value));
  return json;
}

// Returns a ratio for which int(width * ratio) equals `mlp_width`.
double MlpRatio(int width, int mlp_width) {
  double ratio = static_cast<double>(mlp_width) / width;
  while (static_cast<int>(width * ratio) < mlp_width) {
    ratio = std::nextafter(ratio, std::numeric_limits<double>::infinity());
  }
  return ratio;
}

// Returns the fields that determine a network, in a canonical form: without preprocessing, classes and defaults.
std::string NetworkOf(v1::ModelConfig config) {
  config.clear_preprocessing();
  config.clear_classes();
  if (config.has_vit()) {
    config.mutable_vit()->clear_norm();
    v1::VitConfig& vit = *config.mutable_vit();
    vit.clear_norm_epsilon();
    vit.clear_position_resize();
    if (vit.layer_scale() > 0) vit.set_layer_scale(1);  // the initial value does not change the network
  } else {
    config.mutable_xcit()->clear_layer_scale();
    config.mutable_xcit()->clear_embedding();
  }
  return config.SerializeAsString();
}

// Returns 2 if the preprocessing is equal, 1 if only the means of the normalisation are equal, otherwise 0.
int Likeness(const v1::Preprocessing& a, const v1::Preprocessing& b) {
  if (a.SerializeAsString() == b.SerializeAsString()) return 2;
  return std::ranges::equal(a.mean(), b.mean()) ? 1 : 0;
}

// Returns timm's name of the model. If timm has this network under several names, returns the name with the most
// similar preprocessing. If timm lacks the network, returns "".
std::string TimmName(const v1::ModelConfig& config) {
  std::string found;
  int likeness = -1;
  for (const std::string& arch : ForeignArchs(ForeignSource::kTimm)) {
    const absl::StatusOr<v1::ModelConfig> known = ForeignConfig(ForeignSource::kTimm, arch, config.classes());
    if (!known.ok() || NetworkOf(*known) != NetworkOf(config)) continue;
    const int alike = Likeness(known->preprocessing(), config.preprocessing());
    if (alike <= likeness) continue;
    found = arch;
    likeness = alike;
  }
  return found;
}

// Returns true for a ViT that consists only of patches, class token, blocks and head. For such models, the libraries
// have a general class that takes the sizes as arguments.
bool IsPlain(const v1::ModelConfig& config) {
  const v1::VitConfig& vit = config.vit();
  return config.classes() > 0 && !vit.distilled() && vit.registers() == 0 && vit.layer_scale() == 0 &&
         !vit.input_norm() && vit.projection() == 0 && vit.activation() == v1::VitConfig::GELU;
}

absl::Status CheckPlain(const v1::Manifest& manifest, const std::string& library) {
  if (IsPlain(manifest.config())) return absl::OkStatus();
  return Refused(manifest, absl::StrCat("is a ViT with other parts than patches, a class token and a head (distilled "
                                        "DeiT, DINOv2, CLIP), which is not exported to ",
                                        library));
}

// Returns timm's name of the model. If timm has no name for it, returns the name of any model of the same family (ViT
// or XCiT); TimmArguments then sets the sizes.
std::string TimmArch(const v1::ModelConfig& config) {
  const std::string named = TimmName(config);
  return !named.empty() ? named : config.has_vit() ? "vit_tiny_patch16_224" : "xcit_nano_12_p16_224";
}

Json TimmArguments(const v1::ModelConfig& config) {
  const Size size = InputSize(config);
  Json json = {{"img_size", {size.height, size.width}}, {"in_chans", config.preprocessing().channels()}};
  const auto add = [&](const auto& sizes) {
    json["patch_size"] = sizes.patch();
    json["embed_dim"] = sizes.width();
    json["depth"] = sizes.depth();
    json["num_heads"] = sizes.heads();
    json["mlp_ratio"] = MlpRatio(sizes.width(), sizes.mlp_width());
  };
  if (config.has_vit()) {
    add(config.vit());
    return json;
  }
  const v1::XcitConfig& xcit = config.xcit();
  add(xcit);
  json["cls_attn_layers"] = xcit.class_depth();
  json["tokens_norm"] = xcit.tokens_norm();
  json["eta"] = xcit.layer_scale() == 0 ? 1.0 : Shortest(xcit.layer_scale());
  return json;
}

// Returns the number of outputs of timm's head. timm stores CLIP's projection as a head.
int HeadOutputs(const v1::ModelConfig& config) {
  return config.classes() == 0 ? config.vit().projection() : config.classes();
}

Json TimmPreprocessing(const v1::ModelConfig& config) {
  const v1::Preprocessing& preprocessing = config.preprocessing();
  const Size size = InputSize(config);
  return {{"input_size", {preprocessing.channels(), size.height, size.width}},
          {"fixed_input_size", config.has_vit()},
          {"num_classes", HeadOutputs(config)},
          {"interpolation", preprocessing.interpolation() == v1::BILINEAR ? "bilinear" : "bicubic"},
          {"crop_pct", IsCropped(preprocessing) ? CropOf(preprocessing) : 1.0},
          {"crop_mode", IsCropped(preprocessing) ? "center" : "squash"},
          {"mean", ShortFloats(preprocessing.mean())},
          {"std", ShortFloats(preprocessing.std())},
          {"first_conv", config.has_vit() ? "patch_embed.proj" : "patch_embed.proj.0.0"},
          {"classifier", "head"}};
}

Json TransformersConfig(const v1::ModelConfig& config, const std::vector<std::string>& labels) {
  const v1::VitConfig& vit = config.vit();
  const Size size = InputSize(config);
  Json numbers = Json::object(), names = Json::object();
  for (size_t i = 0; i < labels.size(); ++i) {
    names[absl::StrCat(i)] = labels[i];
    numbers[labels[i]] = i;
  }
  return {{"architectures", Json::array({"ViTForImageClassification"})},
          {"model_type", "vit"},
          {"image_size", size.height == size.width ? Json(size.height) : Json({size.height, size.width})},
          {"patch_size", vit.patch()},
          {"num_channels", config.preprocessing().channels()},
          {"hidden_size", vit.width()},
          {"num_hidden_layers", vit.depth()},
          {"num_attention_heads", vit.heads()},
          {"intermediate_size", vit.mlp_width()},
          {"hidden_act", "gelu"},
          {"layer_norm_eps", vit.norm_epsilon() == 0 ? 1e-6 : Shortest(vit.norm_epsilon())},
          {"qkv_bias", true},
          {"hidden_dropout_prob", 0.0},
          {"attention_probs_dropout_prob", 0.0},
          {"id2label", std::move(names)},
          {"label2id", std::move(numbers)}};
}

// Returns the settings of an image processor. If the model crops images to a square, the processor scales the shorter
// side and crops. Otherwise the processor stretches images; adds a note if the model crops them.
Json TransformersPreprocessing(const v1::ModelConfig& config, std::vector<std::string>& notes) {
  const v1::Preprocessing& preprocessing = config.preprocessing();
  const Size size = InputSize(config);
  const Json sides = {{"height", size.height}, {"width", size.width}};
  Json json = {{"do_resize", true},
               {"resample", preprocessing.interpolation() == v1::BILINEAR ? 2 : 3},
               {"do_rescale", true},
               {"rescale_factor", 1.0 / 255},
               {"do_normalize", true},
               {"image_mean", ShortFloats(preprocessing.mean())},
               {"image_std", ShortFloats(preprocessing.std())}};
  if (IsCropped(preprocessing) && size.height == size.width) {
    json["image_processor_type"] = "BitImageProcessor";
    json["size"] = {{"shortest_edge", static_cast<int>(size.height / CropOf(preprocessing))}};
    json["do_center_crop"] = true;
    json["crop_size"] = sides;
    return json;
  }
  if (IsCropped(preprocessing)) notes.push_back("here images are cropped; transformers stretches them");
  json["image_processor_type"] = "ViTImageProcessor";
  json["size"] = sides;
  return json;
}

void AddLicence(const v1::Manifest& manifest, Json& json) {
  if (const std::string& licence = manifest.provenance().licence(); !licence.empty()) json["license"] = licence;
}

}  // namespace

absl::StatusOr<LibraryFiles> FilesForTimm(const v1::Manifest& manifest, const std::vector<std::string>& labels) {
  const v1::ModelConfig& config = manifest.config();
  if (config.has_xcit()) {
    RETURN_IF_ERROR(CheckXcit(manifest));
  } else if (config.has_vit()) {
    RETURN_IF_ERROR(CheckVit(manifest, "timm"));
    if (config.vit().projection() > 0 && config.classes() > 0) {
      return Refused(manifest,
                     "has a head beside CLIP's projection, and timm's model has only one of the two; export the "
                     "version without classes");
    }
    if (TimmName(config).empty()) RETURN_IF_ERROR(CheckPlain(manifest, "timm"));
    const float epsilon = config.vit().norm_epsilon();
    if (epsilon != 0 && epsilon != kTimmEpsilon && !config.vit().input_norm()) {
      return Refused(manifest, absl::StrCat("has LayerNorms with epsilon ", epsilon, ", where timm has ", kTimmEpsilon,
                                            "; --to huggingface keeps it"));
    }
  } else {
    return NoSuchFamily(manifest, "timm", "vit, xcit");
  }
  Json json = {{"architecture", TimmArch(config)},
               {"num_classes", HeadOutputs(config)},
               {"model_args", TimmArguments(config)},
               {"label_names", labels},
               {"pretrained_cfg", TimmPreprocessing(config)}};
  AddLicence(manifest, json["pretrained_cfg"]);
  return LibraryFiles{.texts = {{"config.json", AsText(json)}}, .notes = NotesOf(config, "timm")};
}

absl::StatusOr<LibraryFiles> FilesForTransformers(const v1::Manifest& manifest,
                                                  const std::vector<std::string>& labels) {
  const v1::ModelConfig& config = manifest.config();
  if (!config.has_vit()) return NoSuchFamily(manifest, "transformers", "vit");
  RETURN_IF_ERROR(CheckVit(manifest, "transformers"));
  RETURN_IF_ERROR(CheckPlain(manifest, "transformers"));
  LibraryFiles files{.notes = NotesOf(config, "transformers")};
  if (std::set<std::string>(labels.begin(), labels.end()).size() < labels.size()) {
    files.notes.push_back("here labels repeat; transformers' label2id names only the last class of a label");
  }
  Json json = TransformersConfig(config, labels);
  AddLicence(manifest, json);
  files.texts = {{"config.json", AsText(json)},
                 {"preprocessor_config.json", AsText(TransformersPreprocessing(config, files.notes))}};
  return files;
}

}  // namespace vitrine

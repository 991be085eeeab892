// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/import/model_files.h"

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/data/file.h"
#include "common/status_macros.h"
#include "models/repository/foreign/import.h"
#include "models/tool/publish/import/architecture.h"
#include "models/tool/publish/import/json_members.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Adds a file of at most 4 MiB, unless it is missing or was added before.
absl::Status AddFile(const fs::path& path, std::vector<ModelFile>& files) {
  constexpr int64_t kMostBytes = 4 << 20;
  std::error_code error;
  for (const ModelFile& file : files) {
    if (fs::equivalent(file.name, path, error)) return absl::OkStatus();
  }
  absl::StatusOr<std::string> json = ReadWholeFile(path, kMostBytes);
  if (absl::IsNotFound(json.status())) return absl::OkStatus();
  RETURN_IF_ERROR(json.status());
  files.push_back({path.string(), *std::move(json)});
  return absl::OkStatus();
}

constexpr char kQuick[] = "_quickgelu";  // part of timm's names of models with QuickGELU

// Removes timm's tag, which identifies weights, not the model.
std::string WithoutTag(const std::string& arch) {
  return arch.substr(0, arch.find('.'));
}

std::string Dumped(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/true);
}

// Returns a boolean member, or `otherwise` if it is missing or no boolean.
bool IsOn(const Json& object, const char* member, bool otherwise) {
  const auto found = object.find(member);
  return found != object.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}

// Reads one file into the options.
class Reader {
 public:
  Reader(const ModelFile& file, const v1::ModelConfig& model, ImportOptions& options)
      : file_(file), model_(model), options_(options) {}

  absl::Status Read() {
    const Json json = Json::parse(file_.json, /*cb=*/nullptr, /*allow_exceptions=*/false);
    if (json.is_discarded()) return absl::DataLossError(absl::StrCat(file_.name, ": it is not JSON"));
    if (!json.is_object()) return absl::OkStatus();
    if (json.contains(kOpenClipModel)) return ReadOpenClip(json);
    RETURN_IF_ERROR(CheckArchitecture(json));
    const auto timm = json.find("pretrained_cfg");
    if (timm != json.end() && timm->is_object()) return ReadTimm(*timm);
    return json.contains("image_mean") || json.contains("image_processor_type") ||
                   json.contains("feature_extractor_type")
               ? ReadTransformers(json)
               : absl::OkStatus();
  }

  // Returns the sentences about the options that were set, and about the options that the user should check.
  std::vector<std::string> Sentences() const {
    std::vector<std::string> sentences;
    if (!taken_.empty()) {
      sentences.push_back(absl::StrCat(file_.name, ": taken from it: ", absl::StrJoin(taken_, ", ")));
    }
    if (!quick_.empty()) {
      sentences.push_back(absl::StrCat(file_.name, ": these weights were trained with QuickGELU, but --arch ",
                                       options_.arch, " has the exact GELU, as in timm; for the original results give ",
                                       "--arch ", quick_));
    }
    return sentences;
  }

 private:
  absl::Status Refused(const std::string& fault) const {
    return absl::FailedPreconditionError(absl::StrCat(file_.name, " ", fault));
  }

  absl::Status CheckArchitecture(const Json& json) {
    const bool from_timm = options_.source == "timm";
    if (const std::string name = TextIn(json, "architecture"); !name.empty()) {
      const std::string escaped = absl::CHexEscape(name);
      if (!from_timm) {
        return Refused(absl::StrCat("describes timm's ", escaped, "; give --from timm --arch ", escaped));
      }
      // timm has two names for a CLIP model, with and without QuickGELU. OpenAI's weights use QuickGELU under both
      // names, so --arch may be the name with QuickGELU, even if the file has the other name.
      const std::string arch = WithoutTag(options_.arch);
      if (WithoutTag(name) != arch && WithoutTag(name) != absl::StrReplaceAll(arch, {{kQuick, ""}})) {
        return Refused(absl::StrCat("says that the model is a ", escaped, ", but --arch says ", options_.arch,
                                    "; give --arch ", escaped, ", or the ", kConfigFile, " of these weights"));
      }
      const std::string pool = TextIn(json, "global_pool");
      if (!pool.empty() && pool != "token") {
        return Refused(absl::StrCat("has global_pool \"", absl::CHexEscape(pool),
                                    "\"; only models that classify their class token (\"token\") are supported"));
      }
    }
    if (!from_timm) return CheckTransformers(json);
    const auto arguments = json.find("model_args");
    return arguments != json.end() && arguments->is_object() ? CheckArguments(*arguments) : absl::OkStatus();
  }

  // Checks the arguments with which timm makes the model (`model_args`), but only those that tensor shapes do not show.
  absl::Status CheckArguments(const Json& arguments) const {
    RETURN_IF_ERROR(CheckHeads(arguments, "num_heads"));
    const bool is_quick = model_.vit().activation() == v1::VitConfig::QUICK_GELU;
    const std::pair<const char*, Json> known[] = {{"act_layer", is_quick ? "quick_gelu" : "gelu"},
                                                  {"norm_layer", "layernorm"},
                                                  {"global_pool", "token"},
                                                  {"tokens_norm", model_.xcit().tokens_norm()}};
    for (const auto& [name, value] : known) {
      const auto found = arguments.find(name);
      if (found == arguments.end() || found->is_null() || *found == value) continue;
      return Refused(absl::StrCat("has model_args.", name, " ", Dumped(*found), ", but --arch ", options_.arch, " has ",
                                  value.dump()));
    }
    return absl::OkStatus();
  }

  absl::Status CheckHeads(const Json& json, const char* member) const {
    const double known = model_.has_vit() ? model_.vit().heads() : model_.xcit().heads();
    const double heads = NumberIn(json, member).value_or(known);
    if (heads == known) return absl::OkStatus();
    return Refused(absl::StrCat("has ", heads, " attention heads, but --arch ", options_.arch, " has ", known));
  }

  // Checks the settings that tensor shapes do not show, and takes the epsilon of the LayerNorms.
  absl::Status CheckTransformers(const Json& json) {
    const std::string type = TypeIn(json), act = ActivationIn(json);
    if (type.empty()) return absl::OkStatus();
    const std::string known = TransformersType(model_);
    if (type != known) {
      return Refused(absl::StrCat("says that the model is a ", absl::CHexEscape(type), " of transformers, but --arch ",
                                  options_.arch, " is a ", known));
    }
    const std::string known_act = model_.vit().activation() == v1::VitConfig::QUICK_GELU ? "quick_gelu" : "gelu";
    if (!act.empty() && act != known_act) {
      return Refused(
          absl::StrCat("has hidden_act ", absl::CHexEscape(act), "; --arch ", options_.arch, " has ", known_act));
    }
    const Json& vision = VisionOf(json);
    RETURN_IF_ERROR(CheckHeads(vision, "num_attention_heads"));
    const std::optional<double> epsilon = NumberIn(vision, "layer_norm_eps");
    if (epsilon.has_value() && *epsilon > 0 && !options_.norm_epsilon.has_value()) {
      options_.norm_epsilon = static_cast<float>(*epsilon);
      if (*options_.norm_epsilon != model_.vit().norm_epsilon()) {
        taken_.push_back(absl::StrCat("layer_norm_eps ", *epsilon));
      }
    }
    // DINOv2's image_size is the size of its position table, not of the images. The table's tensor shows this size.
    return known.starts_with("dinov2") ? absl::OkStatus() : CheckSide(SideIn(vision, "image_size"));
  }

  absl::Status CheckSide(const Side& side) const {
    const v1::FixedResolution& fixed = model_.preprocessing().fixed();
    const Side wanted = {static_cast<double>(fixed.height()), static_cast<double>(fixed.width())};
    if (side == Side{} || side == wanted || !options_.native.empty()) return absl::OkStatus();
    return Refused(
        absl::StrCat("is for images of ", InWords(side), ", but --arch ", options_.arch, " takes ", InWords(wanted)));
  }

  absl::Status ReadTimm(const Json& images) {
    const auto notes = images.find("notes");
    const std::string::size_type clip = options_.arch.find("_clip_");
    if (notes != images.end() && absl::StrContains(Dumped(*notes), "QuickGELU") && clip != std::string::npos &&
        model_.vit().activation() != v1::VitConfig::QUICK_GELU) {
      quick_ = WithoutTag(options_.arch).insert(clip + 5, kQuick);
    }
    const auto input = images.find("input_size");
    if (input != images.end() && input->is_array() && input->size() == 3 && input->at(0).is_number() &&
        input->at(1).is_number() && input->at(2).is_number()) {
      const double channels = input->at(0).get<double>();
      if (channels != 3) {
        return Refused(absl::StrCat("is for images of ", channels, channels == 1 ? " channel" : " channels",
                                    "; only 3 are supported"));
      }
      RETURN_IF_ERROR(CheckSide({input->at(1).get<double>(), input->at(2).get<double>()}));
    }
    RETURN_IF_ERROR(TakeStatistics(images, "mean", "std"));
    RETURN_IF_ERROR(TakeInterpolation(TextIn(images, "interpolation")));
    const double crop = NumberIn(images, "crop_pct").value_or(0);
    RETURN_IF_ERROR(TakeCropMode(TextIn(images, "crop_mode"), crop));
    return crop == 0 ? absl::OkStatus() : TakeCrop(crop);
  }

  absl::Status ReadOpenClip(const Json& json) {
    ASSIGN_OR_RETURN(const std::string arch, OpenClipArch(file_.name, json));
    if (arch != options_.arch) {
      return Refused(
          absl::StrCat("says that the model is a ", arch, ", but --arch says ", options_.arch, "; give --arch ", arch));
    }
    const auto images = json.find("preprocess_cfg");
    if (images == json.end() || !images->is_object()) return absl::OkStatus();
    RETURN_IF_ERROR(CheckSide(SideIn(*images, "size")));
    RETURN_IF_ERROR(TakeStatistics(*images, "mean", "std"));
    const std::string filter = TextIn(*images, "interpolation"), mode = TextIn(*images, "resize_mode");
    RETURN_IF_ERROR(TakeInterpolation(filter == "random" ? "bicubic" : filter));  // random only in training
    const bool is_set = !options_.fit.empty() || !options_.native.empty();
    if (is_set || mode.empty() || mode == "shortest") return absl::OkStatus();
    if (mode != "squash") {
      return Refused(absl::StrCat("has resize_mode ", absl::CHexEscape(mode),
                                  ", which is not supported; choose the nearest with --fit and --crop"));
    }
    SetFit("stretch");
    return absl::OkStatus();
  }

  absl::Status ReadTransformers(const Json& json) {
    if (!IsOn(json, "do_rescale", true) ||
        std::abs(NumberIn(json, "rescale_factor").value_or(1 / 255.) - 1 / 255.) > 1e-6) {
      return Refused("does not scale pixels to 0..1 (do_rescale, rescale_factor), which is not supported");
    }
    if (IsOn(json, "do_normalize", true)) {
      RETURN_IF_ERROR(TakeStatistics(json, "image_mean", "image_std"));
    } else {
      SetStatistics(options_.mean, "mean", {0, 0, 0});
      SetStatistics(options_.std, "std", {1, 1, 1});
    }
    if (const std::optional<double> resample = NumberIn(json, "resample"); resample.has_value()) {
      // 2 and 3 are Pillow's constants for these filters
      RETURN_IF_ERROR(TakeInterpolation(*resample == 2   ? "bilinear"
                                        : *resample == 3 ? "bicubic"
                                                         : absl::StrCat("resample ", *resample)));
    }
    return TakeGeometry(json);
  }

  // Determines from transformers' size and crop_size whether images are stretched, or scaled and cropped.
  absl::Status TakeGeometry(const Json& json) {
    if (!options_.fit.empty() || options_.crop.has_value() || !options_.native.empty()) return absl::OkStatus();
    if (!IsOn(json, "do_resize", true)) {
      return Refused(
          "does not scale images (do_resize), which is not supported; choose the nearest with --fit and --crop");
    }
    const auto size = json.find("size");
    if (size == json.end()) return absl::OkStatus();
    const bool is_cropped = IsOn(json, "do_center_crop", false);
    const Side scaled = SideIn(json, "size"), cropped = is_cropped ? SideIn(json, "crop_size") : Side{};
    const double edge = size->is_object() ? NumberIn(*size, "shortest_edge").value_or(0) : 0;
    RETURN_IF_ERROR(CheckSide(is_cropped ? cropped : scaled));
    if (edge > 0 && cropped.height > 0 && cropped.height <= edge) {
      SetFit("crop");
      double crop = cropped.height / edge;
      // The preprocessing scales the shorter side to floor(cropped.height / crop), which must not be less than `edge`.
      if (std::floor(cropped.height / crop) < edge) crop = std::nextafter(crop, 0);
      return TakeCrop(crop);
    }
    if (scaled.height > 0 && (!is_cropped || cropped == scaled)) {
      SetFit("stretch");
      return absl::OkStatus();
    }
    return Refused(absl::StrCat("scales images in a way that is not supported (size ", size->dump(),
                                is_cropped ? absl::StrCat(", crop_size ", InWords(cropped)) : "",
                                "); choose the nearest with --fit and --crop"));
  }

  absl::Status TakeStatistics(const Json& json, const char* mean, const char* std) {
    RETURN_IF_ERROR(TakeTriple(json, mean, "mean", FaultOfMean, options_.mean));
    return TakeTriple(json, std, "std", FaultOfStd, options_.std);
  }

  absl::Status TakeTriple(const Json& json, const char* member, const char* flag, std::string (*fault_of)(double),
                          std::vector<float>& option) {
    const auto found = json.find(member);
    if (!option.empty() || found == json.end() || found->is_null()) return absl::OkStatus();
    std::vector<float> values;
    for (const Json& value : *found) {
      if (value.is_number()) values.push_back(value.get<float>());
    }
    if (!found->is_array() || found->size() != 3 || values.size() != 3) {
      return Refused(absl::StrCat("has a ", member, " that is not three numbers; give --", flag));
    }
    for (const float value : values) {
      if (const std::string fault = fault_of(value); !fault.empty()) {
        return Refused(absl::StrCat("has the ", member, " ", value, ": ", fault, "; give --", flag));
      }
    }
    SetStatistics(option, flag, values);
    return absl::OkStatus();
  }

  void SetStatistics(std::vector<float>& option, const char* name, const std::vector<float>& values) {
    if (!option.empty()) return;
    option = values;
    taken_.push_back(absl::StrCat(name, " ", absl::StrJoin(values, ",")));
  }

  absl::Status TakeInterpolation(const std::string& name) {
    if (name.empty() || !options_.interpolation.empty()) return absl::OkStatus();
    if (name != "bicubic" && name != "bilinear") {
      return Refused(absl::StrCat("says that images are scaled by ", absl::CHexEscape(name),
                                  "; only bicubic and bilinear are supported; choose one with --interpolation"));
    }
    options_.interpolation = name;
    taken_.push_back(absl::StrCat("interpolation ", name));
    return absl::OkStatus();
  }

  // Takes timm's crop_mode: "center" crops the scaled image, "squash" stretches it.
  absl::Status TakeCropMode(const std::string& mode, double crop) {
    if (mode.empty() || mode == "center" || !options_.fit.empty() || !options_.native.empty()) return absl::OkStatus();
    if (mode != "squash" || crop != 1) {
      return Refused(absl::StrCat("has crop_mode ", absl::CHexEscape(mode), " with crop_pct ", crop,
                                  ", which is not supported; choose the nearest with --fit and --crop"));
    }
    SetFit("stretch");
    return absl::OkStatus();
  }

  void SetFit(const std::string& fit) {
    options_.fit = fit;
    taken_.push_back(absl::StrCat("fit ", fit));
  }

  absl::Status TakeCrop(double crop) {
    if (options_.crop.has_value() || !options_.native.empty() || options_.fit == "stretch") return absl::OkStatus();
    if (const std::string fault = FaultOfCrop(crop); !fault.empty()) {
      return Refused(absl::StrCat("has the crop_pct ", crop, ": ", fault, "; give --crop"));
    }
    options_.crop = crop;
    taken_.push_back(absl::StrCat("crop ", crop));
    return absl::OkStatus();
  }

  const ModelFile& file_;
  const v1::ModelConfig& model_;
  ImportOptions& options_;
  std::vector<std::string> taken_;
  std::string quick_;  // name of the model with QuickGELU, if the file's `notes` advise it and --arch has exact GELU
};

// Returns the error for a mean or a standard deviation outside of `range`. The values are for pixels from 0 to 1.
std::string OutsideUnits(const char* range, double value) {
  return absl::StrCat("must be ", range, ", because pixels are scaled to 0..1",
                      value > 1 ? "; divide values for pixels of 0 to 255 by 255" : "");
}

}  // namespace

bool HasConfig(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / kConfigFile, error) || fs::exists(folder / kOpenClipConfigFile, error);
}

absl::StatusOr<std::vector<ModelFile>> FilesOfModel(const ImportOptions& options) {
  std::vector<ModelFile> files;
  const fs::path labels = options.labels, weights = options.weights;
  if (labels.extension() == ".json") AddFile(labels, files).IgnoreError();
  if (labels.filename() == kConfigFile) RETURN_IF_ERROR(AddFile(labels.parent_path() / kPreprocessorFile, files));
  if (options.weights.empty()) return files;
  const fs::path folder = IsFolder(weights) ? weights : weights.parent_path();
  std::error_code error;
  const auto has = [&](const char* name) { return fs::exists(folder / name, error); };
  const bool is_open_clip = IsFolder(weights) ? !has(kForeignWeightsFile) && !has(kForeignIndexFile)
                                              : weights.filename().native().starts_with("open_clip_");
  if ((options.source.empty() || options.source == "openclip") && has(kOpenClipConfigFile) &&
      (is_open_clip || !has(kConfigFile))) {
    RETURN_IF_ERROR(AddFile(folder / kOpenClipConfigFile, files));
    return files;
  }
  for (const char* name : {kConfigFile, kPreprocessorFile}) RETURN_IF_ERROR(AddFile(folder / name, files));
  return files;
}

absl::StatusOr<std::vector<std::string>> TakePreprocessing(const std::vector<ModelFile>& files,
                                                           ImportOptions& options) {
  ASSIGN_OR_RETURN(const ForeignSource source, ForeignSourceNamed(options.source));
  ASSIGN_OR_RETURN(const v1::ModelConfig model, ForeignConfig(source, options.arch, /*classes=*/1));
  std::vector<std::string> sentences;
  for (const ModelFile& file : files) {
    Reader reader(file, model, options);
    RETURN_IF_ERROR(reader.Read());
    for (std::string& sentence : reader.Sentences()) sentences.push_back(std::move(sentence));
  }
  return sentences;
}

std::string TransformersType(const v1::ModelConfig& config) {
  const v1::VitConfig& vit = config.vit();
  if (vit.input_norm()) return "clip";
  if (vit.distilled()) return "deit";
  if (vit.layer_scale() == 0) return "vit";
  return vit.registers() > 0 ? "dinov2_with_registers" : "dinov2";
}

std::string FaultOfMean(double mean) {
  return mean >= 0 && mean <= 1 ? "" : OutsideUnits("from 0 to 1", mean);
}

std::string FaultOfStd(double std) {
  return std > 0 && std <= 1 ? "" : OutsideUnits("above 0 and at most 1", std);
}

std::string FaultOfCrop(double crop) {
  return crop > 0 && crop <= 1 ? "" : "must be above 0 and at most 1";
}

}  // namespace vitrine

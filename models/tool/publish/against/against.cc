// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/against/against.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/data/file.h"
#include "common/data/folder.h"
#include "common/simd/chosen_path.h"
#include "common/status_macros.h"
#include "models/repository/foreign/import.h"
#include "models/repository/selection.h"
#include "models/repository/stored_version.h"
#include "models/repository/weights.h"
#include "models/tool/publish/against/timm_side.h"
#include "models/tool/publish/forward.h"
#include "models/tool/publish/image.h"

namespace vitrine {
namespace {

// Appends the images of `below`, as paths relative to `root`, then the images of its subfolders. Does not follow links
// to folders.
absl::Status AddImages(const std::filesystem::path& root, const std::filesystem::path& below,
                       std::vector<std::string>& images) {
  ASSIGN_OR_RETURN(const FolderContent content, ReadFolder(root / below));
  for (const std::string& name : content.images) images.push_back(below / name);
  for (const std::string& folder : content.folders) {
    std::error_code ignored;
    if (std::filesystem::is_symlink(root / below / folder, ignored)) continue;  // the link may point to a parent folder
    RETURN_IF_ERROR(AddImages(root, below / folder, images));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ImagesIn(const std::string& folder) {
  std::vector<std::string> images;
  RETURN_IF_ERROR(AddImages(folder, "", images));
  if (images.empty()) {
    return absl::NotFoundError(absl::StrCat("--images ", folder, ": the folder has no JPEG, PNG or WebP"));
  }
  return images;
}

// Returns NAME of the command "import --from timm --arch NAME ..." in the manifest; "" for other versions.
std::string ImportedArch(const v1::Manifest& manifest) {
  const std::vector<std::string> words = absl::StrSplit(manifest.provenance().recipe(), ' ');
  const auto timm = std::find(words.begin(), words.end(), "timm");
  const auto flag = std::find(words.begin(), words.end(), "--arch");
  return timm != words.end() && words.end() - flag >= 2 ? *(flag + 1) : "";
}

// Returns timm's name for the model: `told`; if that is empty, the name in the import command.
absl::StatusOr<std::string> ArchOf(const v1::Manifest& manifest, const std::string& told) {
  if (!told.empty()) return told;
  if (std::string arch = ImportedArch(manifest); !arch.empty()) return arch;
  return absl::FailedPreconditionError(absl::StrCat(manifest.model(), "/", manifest.version(),
                                                    " was not imported from timm; name timm's model with --arch"));
}

// Result of comparing our model with timm for one image.
struct Comparison {
  std::string fault = {};  // reason why the image could not be compared
  bool unread = false;     // true: neither side can read the image, which does not count as a difference
  float input = 0;         // largest difference between the inputs, in grey levels (0 to 255)
  float logits = 0;        // largest difference between the logits
  bool beyond = false;     // true: `logits` exceeds the tolerance
  size_t ours = 0;         // our top-1 class
  size_t theirs = 0;

  bool differs() const { return !unread && (!fault.empty() || beyond || ours != theirs); }
};

float LargestDifference(std::span<const float> a, std::span<const float> b) {
  float largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!(std::abs(a[i] - b[i]) <= largest)) largest = std::abs(a[i] - b[i]);
  }
  return largest;
}

size_t Top(std::span<const float> logits) {
  return static_cast<size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

class Comparer {
 public:
  Comparer(const v1::ModelConfig& config, Forward forward, TimmProcess& timm, double tolerance)
      : preprocessing_(config.preprocessing()),
        has_classes_(config.classes() > 0),
        forward_(std::move(forward)),
        timm_(timm),
        tolerance_(tolerance) {}

  // If this image cannot be compared, the result has a `fault`. Returns an error only if no image can be compared, for
  // example because timm has ended.
  absl::StatusOr<Comparison> Compare(std::string_view bytes) {
    const absl::StatusOr<FloatArray> input = ImageInput(bytes, preprocessing_);
    const absl::StatusOr<TimmProcess::Answer> theirs = timm_.Ask(bytes);
    if (absl::IsFailedPrecondition(theirs.status())) return theirs.status();
    if (!input.ok() && !theirs.ok()) return Comparison{.fault = "neither side can decode it", .unread = true};
    if (!input.ok()) return Comparison{.fault = absl::StrCat("timm can decode it; here ", input.status().message())};
    if (!theirs.ok()) return Comparison{.fault = std::string(theirs.status().message())};
    if (input->shape != theirs->input.shape) {
      return Comparison{.fault = absl::StrFormat("the input has %d x %d pixels, timm's %d x %d", input->shape[2],
                                                 input->shape[1], theirs->input.shape[2], theirs->input.shape[1])};
    }
    ASSIGN_OR_RETURN(const FloatArray logits, forward_(std::span(&*input, 1)));
    if (logits.values.size() != theirs->logits.size()) {
      return Comparison{.fault = absl::StrCat("timm gives ", theirs->logits.size(), " logits")};
    }
    Comparison comparison;
    for (int c = 0; c < preprocessing_.channels(); ++c) {
      const float difference = LargestDifference((*input)[c], theirs->input[c]) * preprocessing_.std(c) * 255;
      comparison.input = std::max(comparison.input, difference);
    }
    comparison.logits = LargestDifference(logits.values, theirs->logits);
    float scale = 1;
    for (const float logit : theirs->logits) scale = std::max(scale, std::abs(logit));
    comparison.beyond = !(comparison.logits <= tolerance_ * scale);
    if (!has_classes_) return comparison;
    comparison.ours = Top(logits.values);
    comparison.theirs = Top(theirs->logits);
    return comparison;
  }

 private:
  const v1::Preprocessing& preprocessing_;
  const bool has_classes_;
  const Forward forward_;
  TimmProcess& timm_;
  const double tolerance_;
};

void Print(const std::string& image, const Comparison& comparison, const std::vector<std::string>& labels,
           OutputFormat format) {
  if (format == OutputFormat::kJson) {
    nlohmann::ordered_json line = {{"picture", image}, {"ok", !comparison.differs()}};
    if (comparison.unread) line["skipped"] = true;
    if (!comparison.fault.empty()) {
      line["fault"] = comparison.fault;
    } else {
      line["input_grey_levels"] = comparison.input;
      line["logits"] = comparison.logits;
      if (!labels.empty()) line["top1"] = comparison.ours;
      if (!labels.empty()) line["timm_top1"] = comparison.theirs;
    }
    std::cout << line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << std::endl;
    return;
  }
  std::cout << (comparison.unread ? "skipped " : comparison.differs() ? "DIFFERS " : "ok      ") << image << ": ";
  if (!comparison.fault.empty()) {
    std::cout << comparison.fault << std::endl;
    return;
  }
  std::cout << absl::StrFormat("input %.3g grey levels, %s %.2g", comparison.input,
                               labels.empty() ? "vector" : "logits", comparison.logits);
  if (!labels.empty()) std::cout << ", top-1 " << labels[comparison.ours];
  if (!labels.empty() && comparison.ours != comparison.theirs) std::cout << ", timm's " << labels[comparison.theirs];
  std::cout << std::endl;
}

struct Summary {
  float input = 0, logits = 0;
  size_t differ = 0, flips = 0, skipped = 0;

  void Add(const Comparison& comparison) {
    input = std::max(input, comparison.input);
    if (!(comparison.logits <= logits)) logits = comparison.logits;
    differ += comparison.differs() ? 1 : 0;
    skipped += comparison.unread ? 1 : 0;
    flips += comparison.ours != comparison.theirs ? 1 : 0;
  }
};

// Returns the name of the compared outputs.
const char* OutputsInWords(const v1::ModelConfig& config) {
  if (config.classes() > 0) return "logits";
  return config.vit().projection() > 0 ? "projection vectors" : "class vectors";
}

// Returns the number of outputs of timm's head, 0 for a model without a head. timm stores CLIP's projection as a head.
int HeadOutputs(const v1::ModelConfig& config) {
  return config.classes() == 0 ? config.vit().projection() : config.classes();
}

absl::StatusOr<std::string> WeightsForTimm(const StoredVersion& version) {
  if (!version.manifest.config().preprocessing().has_fixed()) {
    return absl::FailedPreconditionError(
        "the version uses images at their own size, which timm's transform does not "
        "support; compare a version imported without --native");
  }
  if (version.manifest.config().vit().projection() > 0 && version.manifest.config().classes() > 0) {
    return absl::FailedPreconditionError(
        "the version has classes beside CLIP's projection, and timm's model has only one of the two; compare the "
        "version without classes");
  }
  ASSIGN_OR_RETURN(TensorMap tensors,
                   ForeignTensors(ForeignSource::kTimm, version.manifest.config(), version.weights.tensors));
  return WriteSafetensors({std::move(tensors), {}});
}

}  // namespace

absl::Status VerifyAgainstCommand(const std::string& repository, const std::string& which,
                                  const AgainstOptions& options, OutputFormat format) {
  ASSIGN_OR_RETURN(const VersionId id, FindOneVersion(repository, which));
  ASSIGN_OR_RETURN(const StoredVersion version, ReadVersion(repository, id));
  ASSIGN_OR_RETURN(const std::string arch, ArchOf(version.manifest, options.arch));
  ASSIGN_OR_RETURN(const std::vector<std::string> images, ImagesIn(options.images));
  ASSIGN_OR_RETURN(const WeightedModel model, FitWeights(version.manifest, version.weights));
  ASSIGN_OR_RETURN(const cpu::CpuPath path, cpu::ChosenPath());
  ASSIGN_OR_RETURN(Forward forward, EngineForward(model, path));
  ASSIGN_OR_RETURN(const std::string weights, WeightsForTimm(version));
  const v1::ModelConfig& config = version.manifest.config();
  const bool is_timms = !ImportedArch(version.manifest).empty();
  ASSIGN_OR_RETURN(const auto timm, TimmProcess::Start(options.python, arch, HeadOutputs(config), weights,
                                                       is_timms ? nullptr : &config.preprocessing()));
  std::cerr << id.model << "/" << id.version << " against " << arch << " of " << timm->description()
            << (is_timms ? "" : ", as in the version") << "\n";
  Comparer comparer(config, std::move(forward), *timm, options.tolerance);
  Summary summary;
  for (const std::string& image : images) {
    ASSIGN_OR_RETURN(const std::string bytes, ReadWholeFile(std::filesystem::path(options.images) / image));
    ASSIGN_OR_RETURN(const Comparison comparison, comparer.Compare(bytes));
    Print(image, comparison, version.labels, format);
    summary.Add(comparison);
  }
  std::string words = absl::StrFormat("%d images: input differs by at most %.3g grey levels, %s by %.2g", images.size(),
                                      summary.input, OutputsInWords(config), summary.logits);
  if (config.classes() > 0) absl::StrAppend(&words, ", top-1 flips ", summary.flips);
  if (summary.skipped > 0) absl::StrAppend(&words, ", skipped ", summary.skipped);
  if (format != OutputFormat::kJson) std::cout << words << "\n";
  if (summary.skipped == images.size()) {
    return absl::FailedPreconditionError(
        absl::StrCat("--images ", options.images, ": neither side can decode any of its images"));
  }
  if (summary.differ == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(summary.differ, " of ", images.size(), " images differ"));
}

}  // namespace vitrine

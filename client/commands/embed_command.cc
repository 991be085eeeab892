// SPDX-License-Identifier: Apache-2.0
#include "client/commands/embed_command.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "client/commands/attention_choice.h"
#include "client/commands/images.h"
#include "client/commands/output/feature_files.h"
#include "client/commands/output/json_lines.h"
#include "client/commands/output/text.h"
#include "client/lib/numbers.h"
#include "common/data/file_names.h"
#include "common/drawing/attention_words.h"
#include "common/file/write.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr char kArrayEnding[] = ".npy";

v1::ClassifyRequest RequestFor(const EmbedCommand& command, const v1::ModelVersion& model, v1::FeatureKind kind) {
  v1::ClassifyRequest request;
  request.set_model(model.model());
  AskForVersion(command.model, request);
  // Uses one version for all images, even if a canary has traffic, because vectors of different versions are not
  // comparable.
  if (model.version() > 0) {
    request.set_version(model.version());
    request.clear_version_label();
  }
  if (command.resolution.has_value()) *request.mutable_resolution() = *command.resolution;
  request.set_priority(command.priority);
  request.set_omit_predictions(true);
  request.set_max_attention_bytes(kMostAttentionBytes);
  request.add_features()->set_kind(kind);
  request.mutable_features(0)->set_encoding(v1::FEATURE_FLOAT32);
  request.mutable_features(0)->set_normalize(command.normalize);
  return request;
}

std::vector<int64_t> ShapeOf(const v1::Feature& feature) {
  if (feature.kind() == v1::REGISTER_TOKENS) return {feature.columns(), feature.width()};
  if (feature.kind() != v1::PATCH_TOKENS) return {feature.width()};
  return {feature.rows(), feature.columns(), feature.width()};
}

// Writes the features.
class Embedding {
 public:
  Embedding(const EmbedCommand& command, const std::vector<std::string>& paths, std::ostream& out)
      : command_(command), paths_(paths), stems_(DistinctStems(paths)), out_(out) {}

  bool one_array() const { return absl::EndsWith(command_.output, kArrayEnding); }

  // Checks the output path. FAILED_PRECONDITION: the folder has vectors of an earlier run, or a file that this run
  // would overwrite; or the array's path is a folder.
  absl::Status CheckOutput() const {
    if (std::error_code unknown; one_array() && std::filesystem::is_directory(command_.output, unknown)) {
      return absl::FailedPreconditionError(
          absl::StrCat(command_.output, " is a folder, but --out FILE.npy is one array; give another name"));
    }
    if (one_array() || command_.output.empty()) return absl::OkStatus();
    std::vector<std::string> files = {Origin()};
    for (const std::string& stem : stems_) files.push_back(InFolder(stem + kArrayEnding));
    for (const std::string& file : files) {
      if (std::error_code unknown; !std::filesystem::exists(file, unknown)) continue;
      return absl::FailedPreconditionError(
          absl::StrCat(file, " already exists; remove the files of the earlier run, or give another folder as --out"));
    }
    return absl::OkStatus();
  }

  absl::Status Take(const ImageRun::Answered& image) {
    if (image.answer.features_size() != 1) {
      return absl::InternalError("the server answered without features; it may be older than this program");
    }
    RETURN_IF_ERROR(CheckVersion(image.answer.served_by()));
    const v1::Feature& feature = image.answer.features(0);
    if (feature.normalized() != command_.normalize) {
      return absl::InternalError("the server did not normalize the features; it is older than --normalize");
    }
    ASSIGN_OR_RETURN(const std::vector<float> values, FeatureValues(feature));
    summary_ = {feature.kind(), feature.width(), feature.normalized(), taken_ + 1};
    if (taken_ == 0 && !one_array() && !command_.output.empty()) {
      // Writes model.json before the vectors, so that an interrupted run has it too.
      RETURN_IF_ERROR(WriteFile(Origin(), FeatureOrigin(first_, summary_)));
    }
    AnswerFiles files = {.image = paths_[image.index], .sent_as = image.sent_as, .features = command_.output};
    if (one_array()) {
      RETURN_IF_ERROR(Append(image.index, feature, values));
      files.row = array_->rows() - 1;
    } else if (!command_.output.empty()) {
      files.features = InFolder(stems_[image.index] + kArrayEnding);
      RETURN_IF_ERROR(WriteFile(files.features, NpyBytes(ShapeOf(feature), values)));
    }
    ++taken_;
    if (command_.format == Format::kJson) {
      out_ << AnswerLine(image.answer, std::move(files)) << std::flush;
    }
    return absl::OkStatus();
  }

  absl::Status Finish(absl::Duration elapsed) {
    if (array_ != nullptr) {
      RETURN_IF_ERROR(array_->Finish());
      RETURN_IF_ERROR(WriteFile(Beside(".txt"), listed_));
    }
    const std::string origin = Origin();
    if (taken_ > 0 && !command_.output.empty()) {
      RETURN_IF_ERROR(WriteFile(origin, FeatureOrigin(first_, summary_)));
    }
    if (command_.format == Format::kJson || taken_ == 0) return absl::OkStatus();
    const double seconds = std::max(absl::ToDoubleSeconds(elapsed), 1e-6);
    out_ << absl::StreamFormat("%d %s in %.2f s, %.1f per second\n", taken_, taken_ == 1 ? "image" : "images", seconds,
                               taken_ / seconds);
    if (array_ != nullptr) {
      out_ << Printable(command_.output) << ": float32, " << array_->rows() << " x "
           << absl::StrJoin(array_->row_shape(), " x ") << "\n"
           << Printable(Beside(".txt")) << ": the image of each row\n";
    } else {
      out_ << Printable(command_.output) << ": one .npy file per image\n";
    }
    out_ << Printable(origin) << ": " << Printable(first_.model()) << " version " << first_.version() << ", weights "
         << Printable(first_.weights_sha256().substr(0, 12)) << "\n";
    return absl::OkStatus();
  }

 private:
  // Returns the array's path with another ending.
  std::string Beside(const std::string& ending) const {
    return absl::StrCat(absl::StripSuffix(command_.output, kArrayEnding), ending);
  }

  // Returns the path of the file that names the version that computed the vectors.
  std::string Origin() const { return one_array() ? Beside(".model.json") : InFolder("model.json"); }

  std::string InFolder(const std::string& name) const {
    return (std::filesystem::path(command_.output) / name).string();
  }

  // Rejects vectors whose version or weights differ from the version and weights of the first answer.
  absl::Status CheckVersion(const v1::ServedBy& by) {
    if (taken_ == 0) first_ = by;
    if (by.version() == first_.version() && by.weights_sha256() == first_.weights_sha256()) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        "version ", by.version(), " (weights ", by.weights_sha256().substr(0, 12), ") computed it, but version ",
        first_.version(), " (weights ", first_.weights_sha256().substr(0, 12),
        ") computed those before; name one with --model NAME@VERSION"));
  }

  absl::Status Append(size_t index, const v1::Feature& feature, const std::vector<float>& values) {
    const std::vector<int64_t> shape = ShapeOf(feature);
    if (array_ == nullptr) {
      ASSIGN_OR_RETURN(array_, NpyFile::Create(command_.output, shape));
    }
    if (shape != array_->row_shape()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the shape of its features is ", absl::StrJoin(shape, "x"), ", that of the first image ",
                       absl::StrJoin(array_->row_shape(), "x"), "; give a folder as --out to get one file per image"));
    }
    absl::StrAppend(&listed_, EscapedBytes(paths_[index]), "\n");
    return array_->Append(values);
  }

  const EmbedCommand& command_;
  const std::vector<std::string>& paths_;
  const std::vector<std::string> stems_;
  std::ostream& out_;
  std::unique_ptr<NpyFile> array_;
  std::string listed_;
  v1::ServedBy first_;  // the version of the first answer
  FeatureSummary summary_;
  int taken_ = 0;
};

}  // namespace

absl::StatusOr<v1::FeatureKind> ChooseFeatureKind(v1::FeatureKind requested, const v1::ModelVersion& model) {
  RETURN_IF_ERROR(CheckLoaded(model));
  if (!IsLookedUp(model) && requested != v1::FEATURE_KIND_UNSPECIFIED) return requested;
  if (!IsLookedUp(model)) {
    return absl::PermissionDeniedError(absl::StrCat("this caller may not look up the features of model \"",
                                                    model.model(), "\"; name one with --feature"));
  }
  std::vector<std::string> names;
  for (const int number : model.feature_kinds()) {
    const auto kind = static_cast<v1::FeatureKind>(number);
    if (kind == requested) return kind;
    const bool is_vector = kind != v1::PATCH_TOKENS && kind != v1::REGISTER_TOKENS;
    if (requested == v1::FEATURE_KIND_UNSPECIFIED && is_vector) return kind;
    names.push_back(FeatureKindName(kind));
  }
  const std::string what = requested == v1::FEATURE_KIND_UNSPECIFIED
                               ? "no vector"
                               : absl::StrCat("no ", FeatureKindName(requested), " features");
  return absl::InvalidArgumentError(absl::StrCat("model \"", model.model(), "\" has ", what,
                                                 "; it has: ", names.empty() ? "none" : absl::StrJoin(names, ", ")));
}

absl::Status CheckEmbedOutput(const std::string& output) {
  if (absl::EndsWith(output, kArrayEnding)) return absl::OkStatus();
  const std::string ending = std::filesystem::path(output).extension().string();
  for (const char* format : {".npy", ".npz", ".csv", ".tsv", ".json", ".jsonl", ".txt", ".parquet", ".feather",
                             ".arrow", ".h5", ".hdf5", ".pt", ".pth", ".pkl", ".safetensors"}) {
    if (!absl::EqualsIgnoreCase(ending, format)) continue;
    return absl::InvalidArgumentError(absl::StrCat("\"", output, "\": features are written as FILE", kArrayEnding,
                                                   ", or in a folder as a ", kArrayEnding, " file per image; no ",
                                                   ending, " files; --format json prints them as text"));
  }
  return absl::OkStatus();
}

absl::StatusOr<int> RunEmbed(const EmbedCommand& command, std::ostream& out, std::ostream& errors) {
  ASSIGN_OR_RETURN(const FoundImages found, FindImages(command.paths, command.search));
  const std::vector<std::string>& paths = found.paths;
  if (!found.passed_over.empty()) errors << "vitrine: skipped: " << Printable(found.passed_over) << std::endl;
  Embedding embedding(command, paths, out);
  RETURN_IF_ERROR(embedding.CheckOutput());
  ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(command.client));
  ASSIGN_OR_RETURN(const v1::ModelVersion model, ChooseModel(*client, command.model));
  ASSIGN_OR_RETURN(const v1::FeatureKind kind, ChooseFeatureKind(command.kind, model));
  const std::filesystem::path output(command.output);
  RETURN_IF_ERROR(MakeFolder((embedding.one_array() ? output.parent_path() : output).string()));
  const v1::ClassifyRequest request = RequestFor(command, model, kind);
  ImageCount count(paths.size(), errors);
  ImageRun::Handlers handlers{.answered = [&](const ImageRun::Answered& image) {
    if (command.format == Format::kTable) count.Update(image.index + 1);
    return embedding.Take(image);
  }};
  if (command.format == Format::kJson) {
    handlers.failed = [&](size_t index, const absl::Status& why) {
      out << FailureLine(paths[index], why) << std::flush;
    };
  }
  const absl::Time start = absl::Now();
  ImageRun run(paths, command.client, request, handlers, errors);
  const int failed = run.Run(*client);
  if (run.ended()) return failed;
  RETURN_IF_ERROR(embedding.Finish(absl::Now() - start));
  return failed;
}

}  // namespace vitrine

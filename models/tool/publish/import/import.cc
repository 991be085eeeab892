// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/import/import.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/data/file.h"
#include "common/imaging/geometry.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "models/repository/files/text.h"
#include "models/repository/foreign/import.h"
#include "models/repository/labels.h"
#include "models/repository/stored_version.h"
#include "models/tool/publish/goldens.h"
#include "models/tool/publish/import/architecture.h"
#include "models/tool/publish/import/class_vectors.h"
#include "models/tool/publish/import/config_labels.h"
#include "models/tool/publish/import/import_model.h"
#include "models/tool/publish/import/model_files.h"
#include "models/tool/publish/import/pull.h"
#include "models/tool/publish/import/source_text.h"
#include "models/tool/publish/import/stated_licence.h"

namespace vitrine {
namespace {

// Returns the command that repeats the import, without file paths.
std::string InWords(const ImportOptions& options) {
  std::string words = absl::StrCat("import --from ", options.source, " --arch ", options.arch);
  if (!options.mean.empty()) absl::StrAppend(&words, " --mean ", absl::StrJoin(options.mean, ","));
  if (!options.std.empty()) absl::StrAppend(&words, " --std ", absl::StrJoin(options.std, ","));
  if (!options.pull.empty()) absl::StrAppend(&words, " --pull ", options.pull);
  if (options.prefix.has_value()) absl::StrAppend(&words, " --prefix ", *options.prefix);
  if (options.crop.has_value()) absl::StrAppend(&words, " --crop ", *options.crop);
  if (!options.interpolation.empty()) absl::StrAppend(&words, " --interpolation ", options.interpolation);
  if (!options.rounding.empty()) absl::StrAppend(&words, " --rounding ", options.rounding);
  if (!options.fit.empty()) absl::StrAppend(&words, " --fit ", options.fit);
  if (!options.native.empty()) absl::StrAppend(&words, " --native ", options.native);
  if (options.logit_scale.has_value()) absl::StrAppend(&words, " --logit-scale ", *options.logit_scale);
  return words;
}

absl::StatusOr<Draft> MakeDraft(const ImportOptions& options, ImportInput given) {
  ASSIGN_OR_RETURN(const ForeignSource source, ForeignSourceNamed(options.source));
  Draft draft;
  ASSIGN_OR_RETURN(v1::ModelConfig config, TakeModel(options, given));
  ASSIGN_OR_RETURN(draft.weights.tensors, RenameForeign(source, config, given.tensors));
  std::string head;
  if (!options.zero_shot.empty()) {
    ASSIGN_OR_RETURN(head, AddCosineHead(options, given.labels, given.tensors, config, draft.weights.tensors));
  }
  draft.labels = std::move(given.labels);
  given.tensors.clear();
  ASSIGN_OR_RETURN(WeightedModel model, WithWeights(config, std::move(draft.weights)));
  draft.weights = AsStored(model, options.bf16);
  v1::Provenance& provenance = *draft.manifest.mutable_provenance();
  provenance.set_recipe(InWords(options));
  provenance.set_data(absl::StrCat("trained elsewhere: ", options.source, "'s ", options.arch, head));
  provenance.set_created_unix_seconds(absl::ToUnixSeconds(absl::Now()));
  RETURN_IF_ERROR(AddModel(options.model, model, draft));
  return draft;
}

// Sets architecture and preprocessing if the command line does not, and prints which files stated the preprocessing.
absl::Status Prepare(const std::vector<ModelFile>& files, ImportOptions& options) {
  RETURN_IF_ERROR(TakeArchitecture(files, options));
  ASSIGN_OR_RETURN(const std::vector<std::string> taken, TakePreprocessing(files, options));
  for (const std::string& sentence : taken) std::cerr << sentence << "\n";
  return absl::OkStatus();
}

// Returns the SHA-256 of the text that `sha256sum` prints for these files.
absl::StatusOr<std::string> DigestOf(const std::vector<std::filesystem::path>& files) {
  constexpr int64_t kPiece = 1 << 20;
  std::string lines;
  for (const std::filesystem::path& path : files) {
    ASSIGN_OR_RETURN(const ReadOnlyFile file, ReadOnlyFile::Open(path));
    Sha256Stream digest;
    for (int64_t at = 0; at < file.size(); at += kPiece) {
      ASSIGN_OR_RETURN(const std::string piece, file.ReadAt(at, std::min(kPiece, file.size() - at)));
      digest.Update(piece);
    }
    absl::StrAppend(&lines, digest.Hex(), "  ", path.filename().string(), "\n");
  }
  return Sha256Hex(lines);
}

// Returns local files as a Pulled, like the result of a download. Computes their digest only if `options.known` is set.
absl::StatusOr<Pulled> LocalFiles(const ImportOptions& options) {
  constexpr int64_t kMostBytes = 4 << 20;
  const std::filesystem::path weights = options.weights;
  const std::filesystem::path folder = IsFolder(weights) ? weights : weights.parent_path();
  Pulled local;
  local.origin.set_licence(LicenceOfCard(ReadWholeFile(folder / "README.md", kMostBytes).value_or("")));
  ASSIGN_OR_RETURN(local.weights, ForeignFiles(weights));
  if (options.known.has_value()) {
    ASSIGN_OR_RETURN(*local.origin.mutable_sha256(), DigestOf(local.weights));
  }
  return local;
}

// Returns the licence stated by the model card, a JSON file or the metadata of the weights; empty if none states it.
std::string LicenceToPublish(const v1::Origin& origin, const std::vector<ModelFile>& files, const ImportInput& given) {
  std::string licence = origin.licence();
  for (const ModelFile& file : files) {
    if (licence.empty()) licence = LicenceOfConfig(file.json);
  }
  return licence.empty() ? LicenceOfMetadata(given.metadata) : licence;
}

// Checks architecture and name before any download.
absl::Status CheckBefore(const ImportOptions& options) {
  RETURN_IF_ERROR(ValidateModelName(options.model));
  if (options.source.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const ForeignSource source, ForeignSourceNamed(options.source));
  return options.arch.empty() ? absl::OkStatus() : ForeignConfig(source, options.arch, /*classes=*/1).status();
}

}  // namespace

absl::StatusOr<Imported> Import(const ImportOptions& asked) {
  RETURN_IF_ERROR(CheckBefore(asked));
  ImportOptions options = asked;
  ASSIGN_OR_RETURN(std::vector<ModelFile> files, FilesOfModel(options));
  std::string source;
  const auto accept = [&](const std::vector<ModelFile>& pulled, const v1::Origin& origin) {
    files.insert(files.begin(), pulled.begin(), pulled.end());
    source = SourceText(files, origin);
    if (options.known == source) return absl::AlreadyExistsError(source);
    return Prepare(files, options);
  };
  ImportInput given{.weights = options.pull.empty() ? options.weights : options.pull};
  Pulled found;
  if (options.pull.empty()) {
    ASSIGN_OR_RETURN(found, LocalFiles(options));
    RETURN_IF_ERROR(accept({}, found.origin));
  } else {
    if (IsOfCommit(options.known.value_or(""), options.pull)) return absl::AlreadyExistsError(*options.known);
    ASSIGN_OR_RETURN(
        found, Pull({.model = options.pull,
                     .sha256 = options.sha256,
                     .base = options.pull_from.empty() ? DefaultPullFrom() : options.pull_from,
                     .cache = options.pull_cache.empty() ? PullCache() : std::filesystem::path(options.pull_cache),
                     .accept = accept}));
  }
  RETURN_IF_ERROR(TakeLabels(options, files, given));
  ASSIGN_OR_RETURN(given.tensors, ReadForeignWeights(found.weights, &given.metadata));
  if (options.licence.empty()) options.licence = LicenceToPublish(found.origin, files, given);
  ASSIGN_OR_RETURN(Draft draft, MakeDraft(options, std::move(given)));
  if (options.known.has_value()) draft.extra_files[kSourceFile] = source;
  v1::Provenance& provenance = *draft.manifest.mutable_provenance();
  provenance.set_licence(options.licence);
  if (!options.pull.empty()) *provenance.mutable_origin() = found.origin;
  ASSIGN_OR_RETURN(const VersionId published, Publish(options.repository, options.model, draft));
  return Imported{.version = published,
                  .manifest = std::move(draft.manifest),
                  .classes = draft.labels.size(),
                  .source = options.source,
                  .arch = options.arch};
}

absl::Status ImportCommand(const ImportOptions& asked) {
  ASSIGN_OR_RETURN(const Imported made, Import(asked));
  const std::string& licence = made.manifest.provenance().licence();
  std::cout << made.version.model << "/" << made.version.version << " in " << asked.repository << ": " << made.source
            << "'s " << made.arch << ", " << made.manifest.parameters() << " parameters, " << made.classes
            << " classes, licence " << (licence.empty() ? "not stated (--licence states one)" : licence)
            << "; `vitrine-repo verify " << asked.repository << " " << made.version.model << "@" << made.version.version
            << "` checks it\n";
  return absl::OkStatus();
}

}  // namespace vitrine

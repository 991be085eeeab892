// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/export/export.h"

#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/file/replace.h"
#include "common/status_macros.h"
#include "models/repository/foreign/import.h"
#include "models/repository/selection.h"
#include "models/repository/stored_version.h"
#include "models/tool/publish/export/library_files.h"
#include "models/tool/publish/import/model_files.h"

namespace vitrine {
namespace {

bool AreTheSame(const StoredTensor& a, const StoredTensor& b) {
  return a.dtype == b.dtype && a.shape == b.shape &&
         std::memcmp(a.data.get(), b.data.get(), static_cast<size_t>(a.bytes())) == 0;
}

// Checks that importing `foreign` gives the version's tensors, bit for bit.
absl::Status CheckBack(ForeignSource source, const StoredVersion& version, const TensorMap& foreign) {
  ASSIGN_OR_RETURN(const TensorMap back, RenameForeign(source, version.manifest.config(), foreign));
  for (const auto& [name, tensor] : version.weights.tensors) {
    const auto found = back.find(name);
    if (found == back.end() || !AreTheSame(found->second, tensor)) {
      return absl::FailedPreconditionError(absl::StrCat("tensor \"", name, "\" would not be imported as it is here"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> WeightsFile(ForeignSource source, const StoredVersion& version) {
  const v1::Manifest& manifest = version.manifest;
  ASSIGN_OR_RETURN(TensorMap tensors, ForeignTensors(source, manifest.config(), version.weights.tensors));
  RETURN_IF_ERROR(CheckBack(source, version, tensors));
  Safetensors content{.tensors = std::move(tensors), .metadata = {}};
  content.metadata = {{"format", "pt"},  // required by transformers
                      {"exported_from", absl::StrCat(manifest.model(), "/", manifest.version())},
                      {"exported_sha256", version.weights_sha256}};
  if (const std::string& licence = manifest.provenance().licence(); !licence.empty()) {
    content.metadata["license"] = licence;
  }
  return WriteSafetensors(content);
}

// Checks that the folder has no file of a model. The export would overwrite the file, which may be part of the only
// copy of that model.
absl::Status CheckNoModel(const std::filesystem::path& out) {
  for (const char* name : {kForeignWeightsFile, kForeignIndexFile, kConfigFile, kPreprocessorFile}) {
    if (std::error_code error; !std::filesystem::exists(out / name, error)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat((out / name).string(), " is there already; move it away, or give another folder as --out"));
  }
  return absl::OkStatus();
}

// Writes all files under temporary names, and only then renames them. So if the disk is full, an existing folder keeps
// its files, and a new folder is removed.
absl::Status WriteTogether(const std::filesystem::path& out, const std::map<std::string, std::string>& files) {
  std::error_code error;
  const bool is_new = !std::filesystem::exists(out, error);
  std::filesystem::create_directories(out, error);
  if (error) return absl::UnavailableError(absl::StrCat(out.string(), ": ", error.message()));
  absl::Status written;
  for (const auto& [name, text] : files) {
    if (written.ok()) written = StageFile(out / name, text);
  }
  for (const auto& [name, text] : files) {
    if (written.ok()) written = CommitFile(out / name);
  }
  if (written.ok()) return written;
  for (const auto& [name, text] : files) DropStaged(out / name);
  if (is_new) std::filesystem::remove(out, error);
  return written;
}

}  // namespace

absl::Status ExportCommand(const ExportOptions& options) {
  const bool timm = options.target == "timm";
  const ForeignSource source = timm ? ForeignSource::kTimm : ForeignSource::kHuggingFace;
  ASSIGN_OR_RETURN(const VersionId id, FindOneVersion(options.repository, options.which));
  ASSIGN_OR_RETURN(const StoredVersion version, ReadVersion(options.repository, id));
  ASSIGN_OR_RETURN(LibraryFiles files, timm ? FilesForTimm(version.manifest, version.labels)
                                            : FilesForTransformers(version.manifest, version.labels));
  RETURN_IF_ERROR(CheckNoModel(options.out));
  ASSIGN_OR_RETURN(files.texts[kForeignWeightsFile], WeightsFile(source, version));

  RETURN_IF_ERROR(WriteTogether(options.out, files.texts));
  for (const std::string& note : files.notes) std::cerr << "note: " << note << "\n";
  std::cerr << id.model << "/" << id.version << " is in " << options.out << "; load it with\n";
  if (timm) {
    std::cout << "timm.create_model(\"local-dir:" << options.out << "\", pretrained=True)\n";
  } else {
    std::cout << "transformers.AutoModelForImageClassification.from_pretrained(\"" << options.out << "\")\n";
  }
  return absl::OkStatus();
}

}  // namespace vitrine

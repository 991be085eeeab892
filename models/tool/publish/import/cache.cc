// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/import/cache.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/data/file.h"
#include "common/file/process_lock.h"
#include "common/file/replace.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "models/repository/import/import.h"
#include "models/repository/repository.h"
#include "models/tool/publish/import/config_labels.h"
#include "models/tool/publish/import/import.h"
#include "models/tool/publish/import/model_files.h"
#include "models/tool/publish/import/pull.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

// A model to serve, by its source.
struct Source {
  std::string name;      // model name to serve it under
  std::string pull;      // "hf:ORG/NAME@REVISION"; empty for a folder
  fs::path folder;       // absolute; empty for a hub's model
  std::string in_words;  // as on the command line, without the name
};

// Returns the last part of a path or hub name as a model name: other characters become "_".
std::string NameOf(std::string text) {
  text = text.substr(0, text.find('@', text.find(':') == std::string::npos ? text.size() : 0));
  text = fs::path(std::string(absl::StripSuffix(text, "/"))).filename().string();
  for (char& c : text) {
    if (!absl::ascii_isalnum(c) && c != '-' && c != '_' && c != '.') c = '_';
  }
  return text.substr(0, 64);
}

absl::StatusOr<Source> ParseSource(const std::string& text) {
  const size_t equals = text.find('=');
  const bool is_named = equals != std::string::npos && text.find('/') > equals;
  const std::string from = is_named ? text.substr(equals + 1) : text;
  Source source{.name = is_named ? text.substr(0, equals) : NameOf(from), .pull = {}, .folder = {}, .in_words = from};
  if (from.starts_with("hf:")) {
    if (const std::string fault = FaultOfPull(from); !fault.empty()) return absl::InvalidArgumentError(fault);
    source.pull = from;
  } else {
    std::error_code error;
    source.folder = fs::canonical(from, error);
    if (error || !fs::is_directory(source.folder, error)) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", from, "\" is no folder; a model is hf:ORG/NAME[@REVISION], or a folder with ", kConfigFile,
                       " and ", kForeignWeightsFile));
    }
    if (!is_named) source.name = NameOf(source.folder.string());
  }
  RETURN_IF_ERROR(ValidateModelName(source.name));
  return source;
}

absl::Status CheckFolder(const Source& source) {
  std::error_code error;
  const auto has = [&](const char* name) { return fs::exists(source.folder / name, error); };
  if (has("pytorch_model.bin") && !has(kForeignWeightsFile) && !has(kForeignIndexFile)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the weights are in pytorch_model.bin, a pickle, which is never read; save the model with ",
                     "safe_serialization=True, which writes ", kForeignWeightsFile));
  }
  if (has(kConfigFile)) return absl::OkStatus();
  const absl::StatusOr<std::vector<VersionId>> versions = ListVersions(source.folder);
  if (versions.ok() && !versions->empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the folder is a repository of Vitrine; serve it with --repository ", source.folder.string()));
  }
  return absl::FailedPreconditionError(absl::StrCat("the folder has no ", kConfigFile,
                                                    "; if the architecture is known, publish the weights with ",
                                                    "`vitrine-repo import --from --arch`"));
}

// Returns a digest of the files that decide the import of a folder.
absl::StatusOr<std::string> DigestOf(const Source& source) {
  ASSIGN_OR_RETURN(std::vector<fs::path> files, ForeignFiles(source.folder));
  for (const char* name : {kConfigFile, kPreprocessorFile}) files.push_back(source.folder / name);
  std::string lines;
  for (const fs::path& file : files) {
    std::ifstream stream(file, std::ios::binary);
    Sha256Stream digest;
    std::vector<char> part(size_t{1} << 20);
    while (stream.read(part.data(), static_cast<std::streamsize>(part.size())) || stream.gcount() > 0) {
      digest.Update(std::string_view(part.data(), static_cast<size_t>(stream.gcount())));
    }
    absl::StrAppend(&lines, digest.Hex(), "  ", file.filename().string(), "\n");
  }
  return Sha256Hex(lines);
}

// Returns the labels file of a folder: its config.json if that has labels, else "" for ImageNet's. FAILED_PRECONDITION:
// its labels are damaged.
absl::StatusOr<std::string> LabelsIn(const fs::path& folder) {
  ASSIGN_OR_RETURN(const std::string json, ReadWholeFile(folder / kConfigFile, int64_t{4} << 20));
  const auto labels = LabelsOfConfig(json);
  if (!labels.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(kConfigFile, ": ", labels.status().message()));
  }
  return labels->empty() ? std::string() : (folder / kConfigFile).string();
}

bool IsOffline() {
  const char* const offline = std::getenv("HF_HUB_OFFLINE");
  const std::string value = absl::AsciiStrToLower(offline == nullptr ? "" : offline);
  return value == "1" || value == "true" || value == "yes" || value == "on";  // as in huggingface_hub
}

// A repository of one set of models. Beside each model, a hidden file has what its newest version was made of: the URL
// of the weights, which names a commit, or the digest of a folder.
class CachedSet {
 public:
  explicit CachedSet(fs::path root) : root_(std::move(root)) {}

  absl::Status Update(const Source& source) const {
    const std::string known = Known(source);
    ImportOptions options{.repository = root_.string(), .model = source.name};
    std::string state;
    if (source.pull.empty()) {
      RETURN_IF_ERROR(CheckFolder(source));
      ASSIGN_OR_RETURN(state, DigestOf(source));
      if (state == known) return absl::OkStatus();
      options.weights = source.folder.string();
      ASSIGN_OR_RETURN(options.labels, LabelsIn(source.folder));
    } else {
      if (IsOffline()) return Offline(source, known, "HF_HUB_OFFLINE is set");
      options.pull = source.pull;
      options.known = known;
    }
    std::cerr << source.name << ": importing " << source.in_words << "\n";
    const absl::StatusOr<Imported> made = Import(options);
    if (absl::IsAlreadyExists(made.status())) return absl::OkStatus();
    if (absl::IsUnavailable(made.status()) && !known.empty()) {
      return Offline(source, known, std::string(made.status().message()));
    }
    RETURN_IF_ERROR(made.status());
    if (!source.pull.empty()) state = made->manifest.provenance().origin().url();
    return ReplaceFile(StateFile(source), state);
  }

 private:
  fs::path StateFile(const Source& source) const { return root_ / absl::StrCat(".", source.name, ".imported"); }

  // Returns the content of the state file, if the repository has a version of the model; else "".
  std::string Known(const Source& source) const {
    const absl::StatusOr<std::vector<VersionId>> versions = ListVersions(root_);
    const bool has_one = versions.ok() && std::any_of(versions->begin(), versions->end(),
                                                      [&](const VersionId& id) { return id.model == source.name; });
    return has_one ? ReadWholeFile(StateFile(source), int64_t{1} << 16).value_or("") : "";
  }

  static absl::Status Offline(const Source& source, const std::string& known, const std::string& why) {
    if (known.empty()) return absl::UnavailableError(absl::StrCat(why, ", and the model was never imported here"));
    std::cerr << source.name << ": the last import is used, " << known << ": " << why << "\n";
    return absl::OkStatus();
  }

  const fs::path root_;
};

// Waits until no other process imports into the set. On a file system without locks, two processes may import a model
// twice, which publishes two equal versions.
absl::StatusOr<FileDescriptor> LockSet(const fs::path& root) {
  constexpr absl::Duration kPause = absl::Milliseconds(200);
  for (bool is_told = false;; is_told = true) {
    absl::StatusOr<FileDescriptor> lock = LockForProcess(root / ".lock");
    if (absl::IsUnimplemented(lock.status())) return FileDescriptor();
    if (!absl::IsAlreadyExists(lock.status())) return lock;
    if (!is_told) std::cerr << "waiting for another import: " << lock.status().message() << "\n";
    absl::SleepFor(kPause);
  }
}

}  // namespace

std::string FaultOfCachedModel(const std::string& text) {
  return std::string(ParseSource(text).status().message());
}

absl::Status CacheCommand(const CacheOptions& options) {
  std::vector<Source> sources;
  std::set<std::string> names;
  std::vector<std::string> set;
  for (const std::string& text : options.models) {
    ASSIGN_OR_RETURN(Source source, ParseSource(text));
    if (!names.insert(source.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("two models are named ", source.name, "; name one: OTHER=", source.in_words));
    }
    set.push_back(absl::StrCat(source.name, "=", source.pull, source.folder.string()));
    sources.push_back(std::move(source));
  }
  std::sort(set.begin(), set.end());
  const fs::path root = fs::path(options.cache) / Sha256Hex(absl::StrJoin(set, "\n")).substr(0, 16);
  std::error_code error;
  fs::create_directories(root, error);
  if (error) {
    return absl::FailedPreconditionError(
        absl::StrCat(root.string(), " cannot be made: ", error.message(), "; name another folder for imported models"));
  }
  ASSIGN_OR_RETURN(const FileDescriptor lock, LockSet(root));
  for (const Source& source : sources) {
    if (const absl::Status status = CachedSet(root).Update(source); !status.ok()) {
      return absl::Status(status.code(), absl::StrCat(source.in_words, ": ", status.message()));
    }
  }
  std::cout << root.string() << "\n";
  return absl::OkStatus();
}

}  // namespace vitrine

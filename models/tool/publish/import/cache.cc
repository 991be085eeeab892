// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/import/cache.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/data/file.h"
#include "common/file/process_lock.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "models/repository/foreign/import.h"
#include "models/repository/repository.h"
#include "models/repository/stored_version.h"
#include "models/tool/publish/import/import.h"
#include "models/tool/publish/import/model_files.h"
#include "models/tool/publish/import/pull.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

std::string ShortDigest(const std::string& text) {
  return Sha256Hex(text).substr(0, 16);
}

constexpr char kStored[] = "model";  // name of the model in the repository of a source
constexpr char kSet[] = "set-";      // prefix of the repositories of sets

// A model to serve, and the folder or hub that it is imported from.
struct Source {
  std::string name;      // model name to serve it under
  std::string pull;      // "hf:ORG/NAME@REVISION"; empty for a folder
  fs::path folder;       // absolute; empty for a hub's model
  std::string in_words;  // the model as on the command line, without its name

  // Returns the name of the source's repository in the cache.
  std::string Repository() const { return absl::StrCat("source-", ShortDigest(absl::StrCat(pull, folder.string()))); }
};

// Returns `text` as a valid model name: invalid characters become "_".
std::string AsName(std::string text) {
  for (char& c : text) {
    if (!absl::ascii_isalnum(c) && c != '-' && c != '_' && c != '.') c = '_';
  }
  return text.substr(0, 64);
}

// Returns NAME if the folder is a snapshot in the cache of huggingface_hub (models--ORG--NAME/snapshots/COMMIT).
// Otherwise returns the folder's name.
std::string NameOf(const fs::path& folder) {
  const std::string model = folder.parent_path().parent_path().filename().string();
  const bool is_snapshot = folder.parent_path().filename() == "snapshots" && model.starts_with("models--");
  return AsName(is_snapshot ? model.substr(model.rfind("--") + 2) : folder.filename().string());
}

// Returns the error for a model `text` whose source `from` is no folder.
absl::Status NoFolder(const std::string& text, const std::string& from) {
  std::error_code error;
  const std::string on_hub = absl::StrCat("hf:", absl::StripPrefix(from, "https://huggingface.co/"));
  std::string way_out = absl::StrCat("a model is hf:ORG/NAME[@REVISION], or a folder with ", kConfigFile, " and ",
                                     kForeignWeightsFile, "; a path with a comma cannot be in a list");
  if (text != from && fs::is_directory(text, error)) {
    way_out = absl::StrCat("for the folder \"", text, "\" give ./", text);
  } else if (fs::exists(from, error)) {
    way_out = absl::StrCat("give the folder that has ", kConfigFile, " and ", kForeignWeightsFile);
  } else if (FaultOfPull(on_hub).empty()) {
    way_out = absl::StrCat("for the model of Hugging Face give ", on_hub);
  }
  return absl::InvalidArgumentError(absl::StrCat("\"", from, "\" is no folder; ", way_out));
}

absl::StatusOr<Source> ParseSource(const std::string& text) {
  const size_t equals = text.find('=');
  const bool is_named = equals != std::string::npos && text.find('/') > equals;
  const std::string from = is_named ? text.substr(equals + 1) : text;
  Source source{.name = is_named ? text.substr(0, equals) : "", .pull = {}, .folder = {}, .in_words = from};
  if (from.starts_with("hf:")) {
    if (const std::string fault = FaultOfPull(from); !fault.empty()) return absl::InvalidArgumentError(fault);
    source.pull = from.find('@') == std::string::npos ? from + "@main" : from;
    if (!is_named) source.name = AsName(from.substr(from.find('/') + 1, from.find('@') - from.find('/') - 1));
  } else {
    std::error_code error;
    source.folder = fs::canonical(from, error);
    if (error || !fs::is_directory(source.folder, error)) return NoFolder(text, from);
    if (!is_named) source.name = NameOf(source.folder);
  }
  RETURN_IF_ERROR(ValidateModelName(source.name));
  return source;
}

absl::Status CheckFolder(const Source& source) {
  std::error_code error;
  const auto has = [&](const char* name) { return fs::exists(source.folder / name, error); };
  if (has("pytorch_model.bin") && !has(kForeignWeightsFile) && !has(kForeignIndexFile) && !has(kOpenClipWeightsFile)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the weights are in pytorch_model.bin, a pickle, which is never read; save the model with ",
                     "safe_serialization=True, which writes ", kForeignWeightsFile));
  }
  for (const char* name : {kConfigFile, kPreprocessorFile, kOpenClipConfigFile}) {
    if (has(name)) RETURN_IF_ERROR(ReadWholeFile(source.folder / name, int64_t{4} << 20).status());
  }
  if (HasConfig(source.folder)) return absl::OkStatus();
  if (has("snapshots")) {
    return absl::FailedPreconditionError(absl::StrCat("the folder is a model's in the cache of huggingface_hub; give ",
                                                      (source.folder / "snapshots").string(), "/COMMIT, which has the ",
                                                      kConfigFile));
  }
  const absl::StatusOr<std::vector<VersionId>> versions = ListVersions(source.folder);
  if (versions.ok() && !versions->empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the folder is a repository of Vitrine; serve it with --repository ", source.folder.string()));
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(source.folder, error)) {
    if (!entry.path().filename().native().starts_with(kSet)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the folder is a cache of imported models; give their folders or names on the hub, or serve ",
                     "its repository with --repository ", entry.path().string()));
  }
  return absl::FailedPreconditionError(absl::StrCat("the folder has no ", kConfigFile,
                                                    "; if the architecture is known, publish the weights with ",
                                                    "`vitrine-repo import --from --arch`"));
}

// Newest version in the repository of a source.
struct Last {
  VersionId id;
  std::string source;    // text of kSourceFile
  std::string in_words;  // URL of the weights if they came from a hub
};

// Returns the newest version; nullopt if there is none, or if it is damaged. Damage is reported on stderr.
std::optional<Last> LastImport(const fs::path& root) {
  const absl::StatusOr<std::vector<VersionId>> versions = ListVersions(root);
  if (!versions.ok() || versions->empty()) return std::nullopt;
  const absl::StatusOr<StoredVersion> version = ReadVersion(root, versions->back());
  if (!version.ok()) {
    std::cerr << "the last import, in " << root.string() << ", is damaged: " << version.status().message() << "\n";
    return std::nullopt;
  }
  const auto source = version->extra_files.find(kSourceFile);
  return Last{.id = versions->back(),
              .source = source == version->extra_files.end() ? "" : source->second,
              .in_words = version->manifest.provenance().origin().url()};
}

// Waits until no other process imports from the source. On a file system without locks, two processes may publish two
// equal versions.
FileDescriptor LockSource(const fs::path& root) {
  constexpr absl::Duration kPause = absl::Milliseconds(200);
  for (bool is_told = false;; is_told = true) {
    absl::StatusOr<FileDescriptor> lock = LockForProcess(root / ".lock");
    if (!absl::IsAlreadyExists(lock.status())) return lock.ok() ? *std::move(lock) : FileDescriptor();
    if (!is_told) std::cerr << "waiting for another import: " << lock.status().message() << "\n";
    absl::SleepFor(kPause);
  }
}

// Returns the newest version of the source. Imports it first if the repository of the source lacks it.
absl::StatusOr<VersionId> Update(const Source& source, const fs::path& cache) {
  const fs::path root = cache / source.Repository();
  std::error_code error;
  fs::create_directories(root, error);
  if (error) {
    return absl::FailedPreconditionError(
        absl::StrCat(root.string(), " cannot be made: ", error.message(), "; name another folder for imported models"));
  }
  const FileDescriptor lock = LockSource(root);
  if (source.pull.empty()) RETURN_IF_ERROR(CheckFolder(source));
  const std::optional<Last> last = LastImport(root);
  const absl::StatusOr<Imported> made = Import({.repository = root.string(),
                                                .model = kStored,
                                                .weights = source.folder.string(),
                                                .known = last.has_value() ? last->source : "",
                                                .pull = source.pull,
                                                .pull_cache = (cache / "pull").string()});
  if (made.ok()) {
    std::cerr << source.name << ": imported " << source.in_words << "\n";
    return made->version;
  }
  std::string why(made.status().message());
  if (last.has_value() && absl::IsAlreadyExists(made.status())) return last->id;
  if (last.has_value() && !source.pull.empty()) {
    std::cerr << source.name << ": the last import is used, " << last->in_words << ": " << why << "\n";
    return last->id;
  }
  if (absl::IsUnavailable(made.status()) && !fs::exists(root / kStored, error)) {
    why = absl::StrCat("the model was never imported here; ", why);
  }
  if (absl::StrContains(why, "--")) {
    absl::StrAppend(
        &why,
        "; these are flags of `vitrine-repo import`: publish the model with it, and give that repository to "
        "--repository");
  }
  return absl::Status(made.status().code(), why);
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
    set.push_back(absl::StrCat(source.name, "=", source.Repository()));
    sources.push_back(std::move(source));
  }
  std::sort(set.begin(), set.end());
  const fs::path cache = options.cache, root = cache / absl::StrCat(kSet, ShortDigest(absl::StrJoin(set, "\n")));
  for (const Source& source : sources) {
    const absl::StatusOr<VersionId> version = Update(source, cache);
    const absl::Status status =
        version.ok() ? LinkVersion(cache / source.Repository(), *version, root, source.name) : version.status();
    if (!status.ok()) return absl::Status(status.code(), absl::StrCat(source.in_words, ": ", status.message()));
  }
  std::cout << root.string() << "\n";
  return absl::OkStatus();
}

}  // namespace vitrine

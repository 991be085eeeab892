// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/import/survey.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/data/file.h"
#include "common/status_macros.h"
#include "models/repository/files/safetensors_header.h"
#include "models/repository/foreign/import.h"
#include "models/tool/publish/import/architecture.h"
#include "models/tool/publish/import/https.h"
#include "models/tool/publish/import/import.h"
#include "models/tool/publish/import/import_model.h"
#include "models/tool/publish/import/model_files.h"
#include "models/tool/publish/import/pull.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr char kSurveyed[] = "surveyed";  // message of the error that ends a pull before the weights are downloaded

struct Surveyed {
  std::string model;
  std::string arch = {};   // as in ImportOptions; empty: unknown
  int64_t parameters = 0;  // 0: unknown
  absl::Status served = {};
};

constexpr size_t kMostBytes = sizeof(uint64_t) + kMaxSafetensorsHeader;  // maximum bytes of a header with its length

absl::StatusOr<TensorMap> TensorsIn(const fs::path& folder) {
  ASSIGN_OR_RETURN(const std::vector<fs::path> files, ForeignFiles(folder));
  TensorMap tensors;
  for (const fs::path& file : files) {
    ASSIGN_OR_RETURN(const ReadOnlyFile opened, ReadOnlyFile::Open(file));
    const int64_t bytes = std::min<int64_t>(opened.size(), kMostBytes);
    ASSIGN_OR_RETURN(const std::string start, opened.ReadAt(0, bytes));
    RETURN_IF_ERROR(AddForeignHeader(file, start, static_cast<uint64_t>(opened.size()), tensors));
  }
  return tensors;
}

// Requests the header of the weights file at `url`. If `url` is an index, requests the headers of its shards.
absl::StatusOr<TensorMap> TensorsOnHub(const std::string& url, const std::map<std::string, std::string>& login) {
  std::vector<std::string> names = {kForeignWeightsFile};
  if (url.ends_with(kForeignIndexFile)) {
    ASSIGN_OR_RETURN(const FetchReply index, Ask({.url = url, .headers = login, .most_bytes = size_t{4} << 20}));
    ASSIGN_OR_RETURN(names, ShardsOfIndex(index.body));
  }
  TensorMap tensors;
  for (const std::string& name : names) {
    std::string start;
    uint64_t file_bytes = 0;
    const auto sink = [&](const FetchReply& reply, std::string_view bytes) -> absl::Status {
      start.append(bytes);
      if (!absl::SimpleAtoi(reply.Header("content-length"), &file_bytes)) {
        return absl::UnavailableError(absl::StrCat("the hub does not state the size of ", name));
      }
      uint64_t header_bytes = 0;
      if (start.size() < sizeof(header_bytes)) return absl::OkStatus();
      std::memcpy(&header_bytes, start.data(), sizeof(header_bytes));
      const bool has_header = start.size() >= kMostBytes || start.size() - sizeof(header_bytes) >= header_bytes;
      return has_header ? absl::AbortedError(kSurveyed) : absl::OkStatus();
    };
    const absl::StatusOr<FetchReply> asked =
        Ask({.url = url.substr(0, url.rfind('/') + 1) + name, .headers = login, .sink = sink});
    if (!asked.ok() && asked.status().message() != kSurveyed) return asked.status();
    if (asked.ok() && asked->status != 200) {
      return absl::UnavailableError(absl::StrCat("the hub returned status ", asked->status, " for ", name));
    }
    RETURN_IF_ERROR(AddForeignHeader(name, start, file_bytes, tensors));
  }
  return tensors;
}

// Checks what an import checks, except the values of the weights.
absl::Status Check(const std::vector<ModelFile>& files, TensorMap tensors, Surveyed& model) {
  ImportOptions options;
  RETURN_IF_ERROR(TakeArchitecture(files, options));
  model.arch = options.arch;
  RETURN_IF_ERROR(TakePreprocessing(files, options).status());
  ASSIGN_OR_RETURN(const ForeignSource source, ForeignSourceNamed(options.source));
  std::ostream none(nullptr);
  ImportInput given{.weights = model.model, .tensors = std::move(tensors), .notes = &none};
  RETURN_IF_ERROR(TakeLabels(options, files, given));
  ASSIGN_OR_RETURN(const v1::ModelConfig config, TakeModel(options, given));
  for (const auto& [name, tensor] : given.tensors) model.parameters += tensor.elements();
  return RenameForeign(source, config, given.tensors).status();
}

absl::Status CheckFolder(Surveyed& model) {
  ASSIGN_OR_RETURN(const std::vector<ModelFile> files, FilesOfModel({.weights = model.model}));
  ASSIGN_OR_RETURN(TensorMap tensors, TensorsIn(model.model));
  return Check(files, std::move(tensors), model);
}

absl::Status CheckOnHub(Surveyed& model) {
  std::vector<ModelFile> files;
  std::string url;
  const PullRequest request{.model = model.model,
                            .base = DefaultPullFrom(),
                            .accept = [&](const std::vector<ModelFile>& found, const v1::Origin& origin) {
                              files = found;
                              url = origin.url();
                              return absl::AbortedError(kSurveyed);
                            }};
  if (const absl::Status pulled = Pull(request).status(); pulled.message() != kSurveyed) return pulled;
  ASSIGN_OR_RETURN(TensorMap tensors, TensorsOnHub(url, LoginTo(request.base)));
  return Check(files, std::move(tensors), model);
}

// Adds the model folders in a folder. In a cache of huggingface_hub, the snapshots are the model folders.
void AddModelsIn(const fs::path& folder, std::vector<std::string>& models) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (HasConfig(entry.path())) {
      models.push_back(entry.path().string());
    } else if (name == "snapshots" || name.starts_with("models--")) {
      AddModelsIn(entry.path(), models);
    }
  }
}

// Returns false for a config.json or a binary file, whose lines are not names of models.
bool IsListOfNames(const std::string& text) {
  return text.find_first_of(std::string("{\0", 2)) == std::string::npos;
}

// Adds the models that an argument names. Does not read a list that another list names.
void Collect(const std::string& text, bool is_in_list, std::vector<Surveyed>& models) {
  std::error_code error;
  if (text.starts_with("hf:") || HasConfig(text)) {
    models.push_back({.model = text});
  } else if (fs::is_directory(text, error)) {
    std::vector<std::string> folders;
    AddModelsIn(text, folders);
    std::sort(folders.begin(), folders.end());
    for (const std::string& folder : folders) models.push_back({.model = folder});
    if (folders.empty()) {
      models.push_back({.model = text,
                        .served = absl::NotFoundError(
                            absl::StrCat("no folder in it has a ", kConfigFile, " or ", kOpenClipConfigFile))});
    }
  } else if (fs::path(text).extension() == ".safetensors") {
    models.push_back({.model = text, .served = absl::NotFoundError("it is a file of weights; give its folder")});
  } else if (const auto list = ReadText(text); list.ok() && !is_in_list && IsListOfNames(*list)) {
    for (const absl::string_view line : absl::StrSplit(*list, '\n')) {
      const std::string named(absl::StripAsciiWhitespace(line));
      if (!named.empty() && named.front() != '#') Collect(named, /*is_in_list=*/true, models);
    }
  } else {
    const char* const fault = fs::exists(text, error)
                                  ? "it is a file, but no list of models; for a model, give its folder"
                                  : "it does not exist";
    models.push_back({.model = text, .served = absl::NotFoundError(fault)});
  }
}

void PrintJson(const std::vector<Surveyed>& models) {
  Json all = Json::array();
  for (const Surveyed& model : models) {
    all.push_back({{"model", model.model},
                   {"arch", model.arch},
                   {"parameters", model.parameters},
                   {"served", model.served.ok()},
                   {"reason", std::string(model.served.message())}});
  }
  std::cout << all.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
}

}  // namespace

absl::Status SurveyCommand(const SurveyOptions& options) {
  std::vector<Surveyed> models;
  for (const std::string& text : options.models) Collect(text, /*is_in_list=*/false, models);
  absl::Status found = absl::NotFoundError(absl::StrCat("there is no model; a model is hf:ORG/NAME, or a folder with ",
                                                        kConfigFile, " or ", kOpenClipConfigFile));
  if (models.empty()) return found;
  for (Surveyed& model : models) {
    if (!model.served.ok()) continue;
    found = absl::OkStatus();
    model.served = model.model.starts_with("hf:") ? CheckOnHub(model) : CheckFolder(model);
  }
  if (options.json) {
    PrintJson(models);
    return found;
  }
  for (const Surveyed& model : models) {
    std::cout << (model.served.ok() ? "served      " : "not served  ") << model.model;
    if (!model.arch.empty()) std::cout << "  " << model.arch;
    if (model.parameters > 0) std::cout << "  " << model.parameters << " parameters";
    std::cout << "\n";
    if (!model.served.ok()) std::cout << "            " << model.served.message() << "\n";
  }
  const auto served =
      std::count_if(models.begin(), models.end(), [](const Surveyed& model) { return model.served.ok(); });
  std::cout << served << " of " << models.size() << (models.size() == 1 ? " model" : " models") << " can be served\n";
  return found;
}

}  // namespace vitrine

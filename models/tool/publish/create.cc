// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/create.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/charts/html/data_table.h"
#include "common/status_macros.h"
#include "models/engine/torch_library.h"
#include "models/repository/names.h"
#include "models/repository/stored_version.h"
#include "models/tool/publish/forward.h"
#include "models/tool/publish/goldens.h"
#include "models/zoo.h"

namespace vitrine {
namespace {

constexpr char kReadme[] =
    "# A repository of models\n"
    "\n"
    "    <model>/<version>/weights.safetensors   parameters and buffers\n"
    "                      golden.safetensors    inputs and their logits\n"
    "                      labels.txt            line i is the label of class i\n"
    "                      manifest.textproto    configuration, digests, provenance; written last\n"
    "\n"
    "Every version is complete and never changes. Files beside the models, like this one, are ignored.\n"
    "\n"
    "    vitrine-repo list .                     lists the versions\n"
    "    vitrine-repo verify .                   checks digests, weights and goldens of every version\n"
    "    vitrine-repo publish . MODEL --from DIR copies a version from another repository\n"
    "    vitrine-server --repository .           serves the models\n";

absl::Status RaiseLimit(const std::string& variant, int max_tokens, v1::Preprocessing& preprocessing) {
  if (!preprocessing.has_native()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--max-tokens is for variants of native resolution; ", variant, " has a fixed size"));
  }
  preprocessing.mutable_native()->set_max_tokens(max_tokens);
  return absl::OkStatus();
}

// The model is local to this function, so that its memory is freed before the files are assembled.
absl::StatusOr<Draft> MakeDraft(const ZooRow& row, const CreateOptions& options) {
  ASSIGN_OR_RETURN(const TorchLibrary* torch, OpenTorchLibrary());
  ASSIGN_OR_RETURN(ModelDescription description, ModelDescription::Make(row.config));
  ASSIGN_OR_RETURN(std::vector<FloatArray> drawn, torch->draw(row.config, options.seed));
  WeightedModel model = {std::move(description), {}};
  for (FloatArray& weight : drawn) model.weights.push_back(StoredOf(std::move(weight)));
  Draft draft;
  draft.weights = AsStored(model, options.bf16);
  ASSIGN_OR_RETURN(const Forward forward, ReferenceForward(model));
  ASSIGN_OR_RETURN(draft.golden, PatternGoldens(model.description, forward));
  draft.manifest.set_goldens_by("reference");
  for (int i = 0; i < row.config.classes(); ++i) draft.labels.push_back(absl::StrCat("class_", i));
  *draft.manifest.mutable_config() = row.config;
  draft.manifest.set_parameters(model.description.program().parameters());
  SetTolerances(draft.manifest);
  v1::Provenance& provenance = *draft.manifest.mutable_provenance();
  provenance.set_recipe(absl::StrCat("none: random weights of ", std::string(row.name)));
  provenance.set_data("none: untrained");
  provenance.set_seed(static_cast<int64_t>(options.seed));
  provenance.set_licence(options.licence);
  provenance.set_created_unix_seconds(absl::ToUnixSeconds(absl::Now()));
  return draft;
}

absl::StatusOr<bool> HasVersion(const std::string& repository, const std::string& model) {
  std::error_code error;
  if (!std::filesystem::exists(repository, error)) return false;
  ASSIGN_OR_RETURN(const std::vector<VersionId> versions, ListVersions(repository));
  return std::any_of(versions.begin(), versions.end(), [&](const VersionId& id) { return id.model == model; });
}

}  // namespace

absl::Status InitCommand(const std::string& repository) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::exists(repository, error)) {
    if (!fs::is_directory(repository, error)) {
      return absl::FailedPreconditionError(absl::StrCat(repository, " is a file; name a folder"));
    }
    if (!fs::is_empty(repository, error)) {
      const absl::StatusOr<std::vector<VersionId>> versions = ListVersions(repository);
      if (versions.ok() && !versions->empty()) {
        return absl::FailedPreconditionError(absl::StrCat(repository, " is already a repository, with ",
                                                          versions->size(), " versions; `vitrine-repo list ",
                                                          repository, "` shows them"));
      }
      return absl::FailedPreconditionError(
          absl::StrCat(repository, " has other files; name an empty or missing folder"));
    }
  }
  fs::create_directories(repository, error);
  if (error) return absl::UnavailableError(absl::StrCat(repository, ": ", error.message()));
  std::ofstream readme(fs::path(repository) / "README.md", std::ios::binary);
  readme << kReadme;
  readme.close();
  if (!readme) return absl::UnavailableError(absl::StrCat(repository, "/README.md could not be written"));
  std::cout << repository << " is an empty repository. Next: vitrine-repo publish " << repository
            << " MODEL --from DIR, or vitrine-repo create " << repository << " NAME --variant VARIANT\n";
  return absl::OkStatus();
}

absl::Status CreateCommand(const CreateOptions& options) {
  RETURN_IF_ERROR(ValidateModelName(options.model));
  ASSIGN_OR_RETURN(ZooRow row, FindVariant(options.variant));
  if (options.max_tokens) {
    RETURN_IF_ERROR(RaiseLimit(options.variant, *options.max_tokens, *row.config.mutable_preprocessing()));
  }
  if (options.if_absent) {
    ASSIGN_OR_RETURN(const bool there, HasVersion(options.repository, options.model));
    if (there) {
      std::cout << options.model << " already exists in " << options.repository << "\n";
      return absl::OkStatus();
    }
  }
  ASSIGN_OR_RETURN(const Draft draft, MakeDraft(row, options));
  ASSIGN_OR_RETURN(const VersionId published, Publish(options.repository, options.model, draft));
  std::cout << published.model << "/" << published.version << " in " << options.repository << ": "
            << std::string(row.name) << " with random weights, " << WithSeparators(draft.manifest.parameters())
            << " parameters stored as " << (options.bf16 ? "bf16" : "fp32") << "; untrained\n";
  return absl::OkStatus();
}

}  // namespace vitrine

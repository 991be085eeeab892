// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/commands.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/simd/chosen_path.h"
#include "common/status_macros.h"
#include "models/engine/cpu/instructions.h"
#include "models/engine/precision.h"
#include "models/repository/files/text.h"
#include "models/repository/golden.h"
#include "models/repository/manifest.h"
#include "models/repository/selection.h"
#include "models/repository/stored_version.h"
#include "models/repository/unlisted.h"
#include "models/repository/weights.h"
#include "models/repository/wrong_folder.h"
#include "models/tool/publish/forward.h"
#include "models/tool/publish/image.h"
#include "models/tool/publish/page.h"

namespace vitrine {
namespace {

// Returns true if the instructions that a server would use on this CPU (cpu::ChosenPath) support the plan's precision.
bool IsComputedHere(const v1::PrecisionPlan& plan) {
  const std::optional<Precision> precision = ParsePrecision(plan.precision());
  const absl::StatusOr<cpu::CpuPath> path = cpu::ChosenPath();
  return precision.has_value() && path.ok() && engine::CanCompute(*precision, *path).ok();
}

// Reads a version and checks its files, weights and goldens, in fp32 and in each precision of its manifest that this
// CPU supports.
absl::StatusOr<StoredVersion> ReadAndCheck(const std::string& repository, const VersionId& id) {
  ASSIGN_OR_RETURN(StoredVersion version, ReadVersion(repository, id));
  ASSIGN_OR_RETURN(const WeightedModel model, FitWeights(version.manifest, version.weights));
  ASSIGN_OR_RETURN(const cpu::CpuPath path, cpu::ChosenPath());
  ASSIGN_OR_RETURN(const Forward forward, EngineForward(model, path));
  RETURN_IF_ERROR(CheckGolden(version, model.description, forward, ImageInput, "cpu", "fp32"));
  for (const v1::PrecisionPlan& plan : version.manifest.precisions()) {
    if (!IsComputedHere(plan)) continue;
    const PrecisionChoice choice = {.precision = *ParsePrecision(plan.precision()),
                                    .kept = {plan.kept().begin(), plan.kept().end()}};
    const absl::StatusOr<Forward> narrow = EngineForward(model, path, choice);
    if (!narrow.ok()) {
      return absl::Status(narrow.status().code(),
                          absl::StrCat(id.model, "/", id.version, ": ", narrow.status().message()));
    }
    RETURN_IF_ERROR(CheckGolden(version, model.description, *narrow, ImageInput, "cpu", plan.precision()));
  }
  return version;
}

// Returns ", int8 as well" or ", int8 not on this CPU" for each precision of a version.
std::string PrecisionsInWords(const v1::Manifest& manifest) {
  std::string words;
  for (const v1::PrecisionPlan& plan : manifest.precisions()) {
    absl::StrAppend(&words, ", ", EscapedText(plan.precision()),
                    IsComputedHere(plan) ? " as well" : " not on this CPU");
  }
  return words;
}

// Prints a line per link of a model, or of all models. Lists of versions do not contain links.
void PrintLinks(const Listing& listing, const std::string& model) {
  for (const std::string& link : listing.links) {
    if (model.empty() || link == model || link.starts_with(model + "/")) std::cerr << PassedOver(link) << "\n";
  }
}

// Returns the folders that have a manifest but are not versions (UnlistedManifests): the folders of `model`, or all
// folders if `model` is "".
std::vector<std::string> UnlistedIn(const std::string& repository, const std::string& model, const Listing& listing) {
  std::vector<std::string> unlisted = UnlistedManifests(repository, listing);
  std::erase_if(unlisted, [&](const std::string& folder) {
    return !model.empty() && folder != model && !folder.starts_with(model + "/");
  });
  return unlisted;
}

// Prints a line for each folder that has a manifest but is not a version. Skips folders behind links, because
// PrintLinks names the links.
void PrintUnlisted(const std::vector<std::string>& unlisted, const Listing& listing) {
  for (const std::string& folder : unlisted) {
    const bool is_linked = std::any_of(listing.links.begin(), listing.links.end(), [&](const std::string& link) {
      return folder == link || folder.starts_with(link + "/");
    });
    if (is_linked) continue;
    std::cerr << Quoted(folder) << " has a " << kManifestFile << ", but is ignored: a version is <model>/<number>/\n";
  }
}

// Returns the error for a repository or a model that has no versions to verify.
absl::Status VerifiedNothing(const std::string& repository, const std::string& model,
                             std::vector<std::string> unlisted) {
  if (unlisted.empty()) {
    return model.empty() ? absl::NotFoundError(ExplainNoVersions(repository)) : NoSuchModel(repository, model);
  }
  constexpr size_t kShown = 3;
  const size_t more = unlisted.size() - std::min(kShown, unlisted.size());
  unlisted.resize(unlisted.size() - more);
  const std::string listed = absl::StrJoin(
      unlisted, ", ", [](std::string* text, const std::string& name) { absl::StrAppend(text, Quoted(name)); });
  return absl::FailedPreconditionError(absl::StrCat("nothing was verified: a ", kManifestFile, " is in ", listed,
                                                    more > 0 ? absl::StrCat(" and ", more, " more") : "",
                                                    ", but a version is <model>/<number>/ with a number from 1 on; ",
                                                    ExplainNoVersions(repository)));
}

// Prints the manifest's unknown fields, which come from a newer program. Such fields are ignored and cannot be copied.
void PrintUnknown(const StoredVersion& version, const VersionId& id) {
  for (const std::string& field : version.unknown) {
    std::cerr << id.model << "/" << id.version << ": " << kManifestFile << ": " << field << " It is ignored.\n";
  }
}

int64_t CountGoldens(const StoredVersion& version) {
  int64_t goldens = 0;
  while (version.golden.tensors.contains(absl::StrCat("logits.", goldens))) ++goldens;
  return goldens;
}

}  // namespace

absl::Status ListCommand(const std::string& repository, OutputFormat format) {
  ASSIGN_OR_RETURN(const Listing listing, ListRepository(repository));
  PrintLinks(listing, /*model=*/"");
  std::vector<v1::Manifest> manifests;
  size_t failed = 0;
  for (const VersionId& id : listing.versions) {
    absl::StatusOr<v1::Manifest> manifest = ReadManifest(repository, id);
    if (manifest.ok()) {
      manifests.push_back(*std::move(manifest));
    } else {
      std::cerr << manifest.status().message() << "\n";
      ++failed;
    }
  }
  std::cout << TableOf(manifests).Print(format);
  RETURN_IF_ERROR(listing.status());
  if (failed > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(failed, " of ", listing.versions.size(), " versions cannot be listed"));
  }
  return manifests.empty() ? absl::NotFoundError(ExplainNoVersions(repository)) : absl::OkStatus();
}

absl::Status ShowCommand(const std::string& repository, const std::string& which, OutputFormat format) {
  ASSIGN_OR_RETURN(const VersionId id, FindOneVersion(repository, which));
  ASSIGN_OR_RETURN(const v1::Manifest manifest, ReadManifest(repository, id));
  if (format == OutputFormat::kTable) {
    std::cout << ManifestAsPage(manifest);
    return absl::OkStatus();
  }
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(manifest, &json, options).ok()) {
    return absl::InternalError("the manifest has no JSON form");
  }
  std::cout << json;
  return absl::OkStatus();
}

absl::Status VerifyCommand(const std::string& repository, const std::string& which, OutputFormat format) {
  ASSIGN_OR_RETURN(const Selection selection, ParseSelection(which));
  std::vector<VersionId> ids;
  absl::Status unreadable;
  if (selection.version.has_value()) {
    ids = {{selection.model, *selection.version}};
  } else {
    ASSIGN_OR_RETURN(const std::vector<VersionId> all, ListVersionFolders(repository));
    for (const VersionId& id : all) {
      if (selection.model.empty() || id.model == selection.model) ids.push_back(id);
    }
    ASSIGN_OR_RETURN(const Listing listing, ListRepository(repository));
    PrintLinks(listing, selection.model);
    const std::vector<std::string> unlisted = UnlistedIn(repository, selection.model, listing);
    unreadable = listing.status();
    if (ids.empty() && unreadable.ok()) return VerifiedNothing(repository, selection.model, unlisted);
    PrintUnlisted(unlisted, listing);
  }
  size_t failed = 0;
  for (const VersionId& id : ids) {
    const absl::StatusOr<StoredVersion> version = ReadAndCheck(repository, id);
    if (!version.ok()) ++failed;
    if (format == OutputFormat::kJson) {
      nlohmann::ordered_json line = {{"model", id.model}, {"version", id.version}, {"ok", version.ok()}};
      if (!version.ok()) line["fault"] = std::string(version.status().message());
      std::cout << line.dump() << std::endl;
    } else if (version.ok()) {
      std::cout << "ok      " << id.model << "/" << id.version << ": " << version->manifest.files_size()
                << " files as the manifest says, " << WithSeparators(version->manifest.parameters())
                << " parameters fit the model, " << CountGoldens(*version) << " goldens within tolerance"
                << PrecisionsInWords(version->manifest) << std::endl;
      PrintUnknown(*version, id);
    } else {
      std::cout << "FAILED  " << version.status().message() << std::endl;
    }
  }
  if (failed == 0) return unreadable;
  return absl::FailedPreconditionError(absl::StrCat(failed, " of ", ids.size(), " versions failed"));
}

absl::Status PublishCommand(const std::string& repository, const std::string& source, const std::string& which) {
  ASSIGN_OR_RETURN(const VersionId from, FindOneVersion(source, which));
  ASSIGN_OR_RETURN(StoredVersion version, ReadAndCheck(source, from));
  PrintUnknown(version, from);
  const Draft draft = {std::move(version.manifest), std::move(version.weights), std::move(version.golden),
                       std::move(version.labels), std::move(version.extra_files)};
  ASSIGN_OR_RETURN(const VersionId published, Publish(repository, from.model, draft));
  std::cout << source << ": " << from.model << "/" << from.version << " is published in " << repository << " as "
            << published.model << "/" << published.version << "\n";
  return absl::OkStatus();
}

}  // namespace vitrine

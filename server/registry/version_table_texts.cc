// SPDX-License-Identifier: Apache-2.0
// Error texts of VersionTable for a model, version or label that does not serve.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/nearest.h"
#include "common/status_macros.h"
#include "models/repository/files/text.h"
#include "models/repository/repository.h"
#include "server/registry/canary_guard.h"
#include "server/registry/settings/serving_rules.h"
#include "server/registry/version_table.h"

namespace vitrine {
namespace {

// Maximum number of names or versions in an error, because clients accept only 8 KiB of trailing metadata.
constexpr size_t kMostListed = 10;

// Joins texts like "a, b, and 3 more".
class Listed {
 public:
  void Add(std::string text) {
    if (++count_ <= kMostListed) texts_.push_back(std::move(text));
  }
  std::string Text() const {
    const std::string all = absl::StrJoin(texts_, ", ");
    return count_ > kMostListed ? absl::StrCat(all, ", and ", count_ - kMostListed, " more") : all;
  }
  bool empty() const { return texts_.empty(); }

 private:
  std::vector<std::string> texts_;
  size_t count_ = 0;
};

// Returns a text for a version that was rolled back or unloaded: the guard's reason or "by an operator", and the
// command that loads the version again. An operator's reason is left out, because it may not be meant for callers.
std::string PutAwayText(std::string_view model, const v1::PutAway& away) {
  return absl::StrCat("version ", away.version(), " was put away (", ReasonForCallers(away.reason()),
                      "); vitrine admin load ", std::string(model), "@", away.version(), " loads it again");
}

absl::Status StillLoading() {
  return absl::UnavailableError("the server is still loading its models; retry, or use another replica");
}

}  // namespace

VersionStatus VersionTable::ExplainedStatusOf(const Entry& entry, const KnownVersion& known) {
  VersionStatus status = StatusOf(entry, known);
  if (!status.reason.empty() || status.id.version != entry.traffic.stable) return status;
  Listed texts;
  const auto& put_away = entry.plan.changed.put_away();
  for (auto away = put_away.rbegin(); away != put_away.rend(); ++away) {
    const auto kept = entry.versions.find(away->version());
    if (kept != entry.versions.end() && kept->second.status.state == v1::READY) continue;
    texts.Add(PutAwayText(status.id.model, *away));
  }
  status.reason = texts.Text();
  return status;
}

absl::Status VersionTable::NoSuchModel(const Snapshot& now, std::string_view model, const ModelPatterns* visible) {
  // An invalid name is rejected permanently, because a retry cannot help.
  RETURN_IF_ERROR(ValidateModelName(model));
  if (!now.complete) return StillLoading();
  Listed names;
  std::vector<std::string> known;
  for (const auto& [name, other] : now.models) {
    if (!IsKnown(*other) || (visible != nullptr && !visible->Fit(name))) continue;
    names.Add(Quoted(name));
    known.push_back(name);
  }
  std::string others;
  if (const std::string near = NearestWord(model, known); !near.empty()) {
    others = absl::StrCat("; did you mean ", Quoted(near), "? There is ", names.Text());
  } else if (!names.empty()) {
    others = absl::StrCat("; there is ", names.Text());
  } else if (visible == nullptr) {
    others = "; the repository is empty";
  }
  return absl::NotFoundError(absl::StrCat("there is no model ", Quoted(model), others));
}

absl::Status VersionTable::NotReady(const Snapshot& now, std::string_view model, const Entry& entry,
                                    std::optional<int64_t> version) {
  if (!now.complete) return StillLoading();
  if (entry.plan.changed.unloaded()) {
    return absl::NotFoundError(absl::StrCat("model ", Quoted(model), " was unloaded by an operator"));
  }
  if (const auto whole = entry.versions.find(kWholeModel); whole != entry.versions.end()) {
    return absl::UnavailableError(
        absl::StrCat("model ", Quoted(model), " cannot be read from the repository: ", whole->second.status.reason));
  }
  Listed states;
  for (const auto& [number, known] : entry.versions) {
    states.Add(absl::StrCat(number, " (", v1::ModelState_Name(known.status.state), ")"));
  }
  const std::string list = absl::StrCat("the versions that the server loads are ", states.Text());
  if (!version.has_value()) {
    return absl::NotFoundError(absl::StrCat("no version of model ", Quoted(model), " is ready; ", list));
  }
  for (const v1::PutAway& away : entry.plan.changed.put_away()) {
    if (away.version() != *version) continue;
    return absl::NotFoundError(absl::StrCat("model ", Quoted(model), " ", PutAwayText(model, away), "; ", list));
  }
  const bool known = entry.versions.contains(*version);
  return absl::NotFoundError(absl::StrCat(
      "model ", Quoted(model), known ? " version " : " has no version ", *version, known ? " is not ready; " : "; ",
      list, known ? "" : "; an operator loads others with `vitrine admin load` or --serving-config"));
}

absl::Status VersionTable::NoSuchLabel(const Snapshot& now, std::string_view model, const Entry& entry,
                                       std::string_view label) {
  if (!now.complete) return StillLoading();
  Listed labels;
  for (const auto& [name, version] : entry.traffic.labels) labels.Add(absl::StrCat(name, " (", version, ")"));
  const int64_t set = LabelledVersion(entry.plan.serving, label);
  return absl::NotFoundError(
      absl::StrCat("no ready version of model ", Quoted(model), " has the label ", Quoted(label),
                   set == 0 ? "" : absl::StrCat(", which is set for version ", set), "; ",
                   !labels.empty()             ? absl::StrCat("its labels are ", labels.Text())
                   : entry.traffic.stable == 0 ? "no version is ready"
                                               : "no version has a label",
                   set != 0 ? "" : "; an operator sets labels with `vitrine admin label` or --serving-config"));
}

}  // namespace vitrine

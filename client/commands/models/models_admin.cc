// SPDX-License-Identifier: Apache-2.0
#include "client/commands/models/models_admin.h"

#include <google/protobuf/util/json_util.h>

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/commands/output/names.h"
#include "client/commands/output/text.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr int kFirstColumn = 10;

std::string JsonLine(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string line;
  // Conversion fails only for messages that contain an Any.
  (void)google::protobuf::util::MessageToJsonString(message, &line, options);
  return line + "\n";
}

std::string Megabytes(int64_t bytes) {
  constexpr double kMega = 1e6;
  return absl::StrFormat("%.1f MB", static_cast<double>(bytes) / kMega);
}

std::string Fact(absl::string_view name, const std::string& value) {
  return absl::StrFormat("  %-*s %s\n", kFirstColumn, name, value);
}

std::string PolicyText(const v1::VersionPolicy& policy) {
  if (policy.all()) return "all versions";
  if (policy.has_specific()) return absl::StrCat("versions ", absl::StrJoin(policy.specific().versions(), ", "));
  return policy.latest() == 1 ? "the newest version" : absl::StrCat("the newest ", policy.latest(), " versions");
}

// Returns a line such as "  4  ready  5 % of the requests  canary, eu".
std::string VersionText(const v1::ModelVersion& version) {
  const bool ready = version.state() == v1::READY;
  std::string text = absl::StrFormat("  %-*d %-9s", kFirstColumn, version.version(), ModelStateName(version.state()));
  if (ready) absl::StrAppendFormat(&text, "%6g %% of the requests", version.traffic_percent());
  if (!version.version_labels().empty()) absl::StrAppend(&text, "  ", absl::StrJoin(version.version_labels(), ", "));
  if (version.device_bytes() > 0) absl::StrAppend(&text, "  ", Megabytes(version.device_bytes()));
  if (!version.reason().empty()) absl::StrAppend(&text, "  ", Printable(version.reason()));
  return text + "\n";
}

// Returns why a configured version is not in force, for example "absent" or "failed"; "" if it is READY.
std::string WhyNot(const v1::ModelServingStatus& serving, int64_t version) {
  for (const v1::ModelVersion& known : serving.versions()) {
    if (known.version() == version) return known.state() == v1::READY ? "" : ModelStateName(known.state());
  }
  return "absent";
}

// Returns a line for each label, each traffic share and each entry of the version policy that refers to a version that
// is not READY.
std::string NotInForce(const v1::ModelServingStatus& serving) {
  std::string text;
  const auto add = [&](absl::string_view name, int64_t version, const std::string& what, const std::string& instead) {
    const std::string why = WhyNot(serving, version);
    if (!why.empty()) text += Fact(name, absl::StrCat(what, ", not in force: it is ", why, instead));
  };
  for (const v1::VersionLabel& label : serving.serving().labels()) {
    const bool stands_in = label.label() == "stable" && serving.stable_version() != 0;
    add("label", label.version(), absl::StrCat(Printable(label.label()), " of version ", label.version()),
        stands_in ? absl::StrCat("; version ", serving.stable_version(), " answers") : "");
  }
  for (const v1::TrafficShare& share : serving.serving().traffic()) {
    add("traffic", share.version(), absl::StrCat(share.percent(), " % to version ", share.version()), "");
  }
  for (const int64_t version : serving.serving().version_policy().specific().versions()) {
    add("policy", version, absl::StrCat("version ", version), "");
  }
  return text;
}

std::string CanaryText(const v1::CanaryStatus& canary) {
  std::string text = absl::StrCat("version ", canary.version(), ": ", canary.errors(), " errors in ", canary.requests(),
                                  " answers of the window");
  if (canary.compared() > 0) {
    absl::StrAppendFormat(&text, ", computes %.2f times as long for an image as stable over %d", canary.compute_ratio(),
                          canary.compared());
  }
  if (canary.answers_compared() > 0) {
    absl::StrAppendFormat(
        &text, ", over %d answers differs from stable by %.2f in confidence, %.2f in unsure, %.2f in classes",
        canary.answers_compared(), canary.confidence_difference(), canary.unsure_difference(),
        canary.class_difference());
  }
  if (canary.paired() > 0) {
    absl::StrAppendFormat(&text, ", finds another class for %.0f %% of %d images that both computed",
                          100 * canary.disagreement(), canary.paired());
  }
  return absl::StrCat(text, canary.golden_drift() < 0
                                ? ", golden answers not compared yet"
                                : absl::StrFormat(", golden answers differ by %g", canary.golden_drift()));
}

absl::StatusOr<int64_t> ParseVersionNumber(absl::string_view text) {
  int64_t version = 0;
  if (absl::SimpleAtoi(text, &version) && version >= 1) return version;
  return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is no version; versions are positive numbers"));
}

}  // namespace

std::string ServingText(const v1::ModelServingStatus& serving) {
  std::string text = absl::StrCat(Printable(serving.model()), "\n");
  if (serving.unloaded()) {
    text += Fact("unloaded", "no version is in memory; load it again with vitrine admin load");
  } else {
    text += Fact("in memory",
                 absl::StrCat(PolicyText(serving.serving().version_policy()), "; ", Megabytes(serving.memory_bytes()),
                              serving.changed_by_admin() ? "; changed by the Admin service" : ""));
  }
  if (serving.stable_version() == 0 && !serving.unloaded()) text += Fact("serves", "nothing: no version is ready");
  for (const v1::ModelVersion& version : serving.versions()) text += VersionText(version);
  if (!serving.unloaded()) text += NotInForce(serving);
  for (const v1::PutAway& away : serving.put_away()) {
    text += Fact("put away", absl::StrCat("version ", away.version(), ": ", Printable(away.reason())));
  }
  for (const v1::CanaryStatus& canary : serving.canaries()) text += Fact("guarded", CanaryText(canary));
  return text;
}

absl::Status RunAdminChange(const ClientOptions& options, const AdminChange& change, Format format, std::ostream& out,
                            std::ostream& errors) {
  ASSIGN_OR_RETURN(const std::unique_ptr<AdminClient> client, AdminClient::Connect(options));
  ASSIGN_OR_RETURN(const v1::ServingChange made, client->Make(change));
  if (format == Format::kJson) {
    out << JsonLine(made);
    return absl::OkStatus();
  }
  out << ServingText(made.serving());
  for (const std::string& note : made.notes()) errors << "vitrine: " << Printable(note) << "\n";
  return absl::OkStatus();
}

absl::Status RunServing(const ClientOptions& options, const std::string& model, Format format, std::ostream& out) {
  ASSIGN_OR_RETURN(const std::unique_ptr<AdminClient> client, AdminClient::Connect(options));
  v1::GetServingRequest request;
  request.set_model(model);
  ASSIGN_OR_RETURN(const v1::ServingStatus status, client->GetServing(request));
  if (format == Format::kJson) {
    out << JsonLine(status);
    return absl::OkStatus();
  }
  if (status.models().empty()) out << "the server has no models\n";
  for (const v1::ModelServingStatus& serving : status.models()) out << ServingText(serving);
  out << "\nweights in memory: " << Megabytes(status.memory_bytes());
  if (status.has_max_memory_bytes()) out << " of at most " << Megabytes(status.max_memory_bytes());
  out << "\nserving config: " << (status.serving_config().empty() ? "none" : Printable(status.serving_config()))
      << "\n";
  if (!status.serving_config_fault().empty()) {
    out << "  its current content is not used: " << Printable(status.serving_config_fault()) << "\n";
  }
  out << "changes are kept in: "
      << (status.admin_state().empty()
              ? "memory, lost when the server ends (--admin-state of vitrine-server keeps them)"
              : Printable(status.admin_state()))
      << "\n";
  return absl::OkStatus();
}

absl::StatusOr<v1::VersionPolicy> ParseVersionPolicy(const std::vector<std::string>& words) {
  v1::VersionPolicy policy;
  const std::string kind = words.empty() ? "" : words[0];
  if (kind == "all" && words.size() == 1) {
    policy.set_all(true);
    return policy;
  }
  if (kind == "latest" && words.size() <= 2) {
    int32_t most = 1;
    if (words.size() == 2 && (!absl::SimpleAtoi(words[1], &most) || most < 1 || most > 100)) {
      return absl::InvalidArgumentError(absl::StrCat("latest needs a number from 1 to 100, not \"", words[1], "\""));
    }
    policy.set_latest(most);
    return policy;
  }
  if (kind == "specific" && words.size() >= 2) {
    for (size_t i = 1; i < words.size(); ++i) {
      ASSIGN_OR_RETURN(const int64_t version, ParseVersionNumber(words[i]));
      policy.mutable_specific()->add_versions(version);
    }
    return policy;
  }
  return absl::InvalidArgumentError("a policy is one of: latest [N], all, specific VERSION...");
}

absl::StatusOr<v1::TrafficShare> ParseTrafficShare(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
  v1::TrafficShare share;
  double percent = 0;
  if (parts.size() != 2 || !absl::SimpleAtod(absl::StripSuffix(parts[1], "%"), &percent) ||
      !(percent > 0 && percent <= 100)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is no share; write VERSION=PERCENT, as in 4=5, above 0 and at most 100"));
  }
  ASSIGN_OR_RETURN(const int64_t version, ParseVersionNumber(parts[0]));
  share.set_version(version);
  share.set_percent(percent);
  return share;
}

}  // namespace vitrine

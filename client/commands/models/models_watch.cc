// SPDX-License-Identifier: Apache-2.0
#include "client/commands/models/models_watch.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/commands/models/model_page.h"
#include "client/commands/output/json_lines.h"
#include "client/commands/output/names.h"
#include "client/commands/output/text.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr absl::Duration kFirstWait = absl::Milliseconds(100);
constexpr absl::Duration kLongestBatchWait = absl::Seconds(5);
// Keepalive of the watch. Without it, a watch on a server that has vanished would never end.
constexpr absl::Duration kKeepalive = absl::Seconds(30);

// Returns true if a retry may help.
bool MayPass(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnimplemented:
      return false;
    default:
      return true;
  }
}

bool IsChosen(const ModelChoice& choice, const v1::ModelVersion& version) {
  return (choice.name.empty() || choice.name == version.model()) &&
         (!choice.version.has_value() || *choice.version == version.version());
}

// Reports "vitrine: the server has no m@2 yet; waiting for it", so that a misspelt name is noticed.
void ReportMissing(const ModelChoice& choice, const v1::ListModelsResponse& list, std::ostream& errors) {
  const auto chosen = [&](const v1::ModelVersion& version) { return IsChosen(choice, version); };
  if (choice.name.empty() || std::ranges::any_of(list.versions(), chosen)) return;
  errors << "vitrine: the server has no " << Printable(choice.name)
         << (choice.version.has_value() ? absl::StrCat("@", *choice.version) : "") << " yet; waiting for it"
         << std::endl;
}

// Prints a version only if it has changed since it was last printed.
class Teller {
 public:
  Teller(const WatchCommand& command, std::ostream& out) : command_(command), out_(out) {}

  // Prints the event if the command watches its version and the version has changed since its last printed event.
  // Returns false if the watch must end.
  bool Tell(const v1::ModelEvent& event) {
    const v1::ModelVersion& version = event.version();
    if (!IsChosen(command_.model, version)) return true;
    const auto known = known_.find({version.model(), version.version()});
    const bool was_known = known != known_.end();
    if (event.removed() ? !was_known : was_known && Same(known->second, version)) return true;
    const std::string before = was_known ? ModelStateName(known->second.state()) : "";
    if (event.removed()) {
      known_.erase(known);
    } else {
      known_[{version.model(), version.version()}] = version;
    }
    out_ << Line(event, before) << std::flush;
    return out_.good() && (!command_.more || command_.more());
  }

  // Prints an event for each version that the server no longer has. Returns false if the watch must end.
  bool TellMissing(const v1::ListModelsResponse& list) {
    std::vector<v1::ModelEvent> gone;
    for (const auto& [name, version] : known_) {
      const bool there = std::ranges::any_of(list.versions(), [&name = name](const v1::ModelVersion& other) {
        return other.model() == name.first && other.version() == name.second;
      });
      if (there) continue;
      *gone.emplace_back().mutable_version() = version;
      gone.back().set_removed(true);
    }
    return std::ranges::all_of(gone, [this](const v1::ModelEvent& event) { return Tell(event); });
  }

 private:
  static bool Same(const v1::ModelVersion& a, const v1::ModelVersion& b) {
    return a.SerializeAsString() == b.SerializeAsString();
  }

  std::string Line(const v1::ModelEvent& event, const std::string& before) const {
    const absl::Time now = absl::Now();
    if (command_.format == Format::kJson) return ModelEventLine(event, now);
    const v1::ModelVersion& version = event.version();
    const std::string after = event.removed() ? "removed" : ModelStateName(version.state());
    return absl::StrCat(absl::FormatTime("%H:%M:%S", now, absl::LocalTimeZone()), "  ", Printable(version.model()), "@",
                        version.version(), "  ", before.empty() || before == after ? "" : absl::StrCat(before, " -> "),
                        after, version.reason().empty() ? "" : absl::StrCat(": ", Printable(version.reason())), "\n");
  }

  const WatchCommand& command_;
  std::ostream& out_;
  std::map<std::pair<std::string, int64_t>, v1::ModelVersion> known_;
};

}  // namespace

absl::Status WatchModels(const WatchCommand& command, std::ostream& out, std::ostream& errors) {
  ClientOptions options = command.client;
  if (options.keepalive == absl::ZeroDuration()) options.keepalive = kKeepalive;
  options.retry.max_attempts = 1;  // WatchModels itself retries
  ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(options));
  Teller teller(command, out);
  absl::BitGen random;
  bool lost = false;  // true: the loss of the connection was reported
  bool first = true;
  absl::Duration wait = kFirstWait;
  while (true) {
    absl::StatusOr<v1::ListModelsResponse> list = client->ListModels();
    absl::Status status = list.status();
    if (list.ok()) {
      if (std::exchange(lost, false)) errors << "vitrine: the server is back" << std::endl;
      if (std::exchange(first, false)) ReportMissing(command.model, *list, errors);
      if (!teller.TellMissing(*list)) return absl::OkStatus();
      bool enough = false;
      status = client->WatchModels(command.model.name, [&](const v1::ModelEvent& event) {
        wait = kFirstWait;
        enough = !teller.Tell(event);
        return !enough;
      });
      if (enough) return absl::OkStatus();
    }
    if (!MayPass(status)) return status;
    if (!std::exchange(lost, true)) {
      errors << "vitrine: the server at " << options.address << " is unreachable"
             << (status.ok() ? "" : absl::StrCat(" (", Printable(status.message()), ")")) << "; waiting for it"
             << std::endl;
    }
    absl::SleepFor(wait * absl::Uniform(random, 0.5, 1.0));
    wait = std::min(2 * wait, kLongestBatchWait);
  }
}

}  // namespace vitrine

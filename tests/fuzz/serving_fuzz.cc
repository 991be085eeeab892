// SPDX-License-Identifier: Apache-2.0
// Parses arbitrary text as a serving configuration and as the file with the Admin service's changes. The text must be
// rejected, or give a valid plan for every model that it names. The file with the changes follows the first zero byte.
#include <google/protobuf/text_format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/registry/settings/serving_rules.h"
#include "server/registry/settings/serving_settings.h"
#include "server/registry/settings/traffic.h"
#include "server/registry/settings/version_policy.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/mutate_message.h"
#include "tests/fuzz/require.h"

namespace vitrine {
namespace {

// Loads versions as the registry does. Requires that the plan needs no further version after at most kVersions loads.
void Settle(const ModelPlan& plan) {
  constexpr int kVersions = 6;
  std::vector<VersionFacts> versions;
  for (int64_t version = 1; version <= kVersions; ++version) versions.push_back({.version = version});
  versions.back().state = VersionFacts::State::kReady;
  for (int steps = 0;; ++steps) {
    Require(steps <= kVersions);
    const VersionStep step = NextStep(versions, plan);
    if (!step.load.has_value()) break;
    Require(*step.load >= 1 && *step.load <= kVersions && !IsPutAway(plan.changed, *step.load));
    versions[*step.load - 1].state = VersionFacts::State::kReady;
  }
}

void CheckPlan(const ModelPlan& plan) {
  Require(ValidateServing(plan.serving).ok() && plan.serving.has_version_policy());
  const TrafficTable table = MakeTrafficTable(plan, {1, 2, 3});
  for (const uint64_t point : {uint64_t{0}, uint64_t{1} << 63, UINT64_MAX}) {
    const int64_t version = table.Choose(point);
    Require(version >= 0 && version <= 3);
  }
  Settle(plan);
}

}  // namespace
}  // namespace vitrine

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

// Mutates the fields of one file: of the ServingConfig if the input has no zero byte, otherwise of the AdminState after
// the zero byte.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  const std::string_view both(reinterpret_cast<const char*>(data), size);
  const size_t end = both.find('\0');
  if (end == std::string_view::npos) {
    vitrine::v1::ServingConfig scratch;
    return vitrine::MutateText(scratch, data, size, max_size, seed);
  }
  if (seed % 16 == 1) return LLVMFuzzerMutate(data, size, max_size);
  vitrine::v1::AdminState scratch;
  return end + 1 + vitrine::MutateText(scratch, data + end + 1, size - end - 1, max_size - end - 1, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using vitrine::Require;
  const std::string_view both(reinterpret_cast<const char*>(data), size);
  const size_t end = both.find('\0');
  const vitrine::MemoryFile config(both.substr(0, end));
  const vitrine::MemoryFile changes(end == std::string_view::npos ? "" : both.substr(end + 1));
  vitrine::ServingSettings::Options options;
  options.serving_config = config.path();
  options.admin_state = changes.path();
  options.default_policy.set_latest(1);
  const auto settings = vitrine::ServingSettings::Open(options);
  if (!settings.ok()) {
    Require(settings.status().code() == absl::StatusCode::kInvalidArgument);
    return 0;
  }
  for (const std::string& model : (*settings)->Models()) vitrine::CheckPlan((*settings)->Plan(model));
  vitrine::CheckPlan((*settings)->Plan("of-neither"));
  return 0;
}

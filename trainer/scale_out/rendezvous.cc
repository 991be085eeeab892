// SPDX-License-Identifier: Apache-2.0
#include "trainer/scale_out/rendezvous.h"

#include <charconv>
#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr int kMostProcesses = 1 << 16;

// Parses the integer in the variable `name`, which must be set. INVALID_ARGUMENT unless it is an integer in [lowest,
// highest].
absl::StatusOr<int> NumberIn(const Environment& environment, const char* name, int lowest, int highest) {
  const std::string_view text = environment(name);
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < lowest || value > highest) {
    return absl::InvalidArgumentError(absl::StrCat("the environment's ", name, " is \"", std::string(text),
                                                   "\"; it must be an integer from ", lowest, " to ", highest));
  }
  return value;
}

absl::Status CheckComplete(const Environment& environment, const char* rank_name) {
  std::string set, missing;
  for (const char* name : {rank_name, "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    std::string& list = environment(name) != nullptr ? set : missing;
    absl::StrAppend(&list, list.empty() ? "" : ", ", name);
  }
  if (missing.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the environment sets ", set, " but not ", missing,
                                                 "; several processes need all four, which torchrun sets. Unset ", set,
                                                 " to train in one process"));
}

}  // namespace

absl::StatusOr<std::optional<Rendezvous>> ReadRendezvous(const Environment& environment) {
  const auto is_set = [&](const char* name) { return environment(name) != nullptr; };
  if (!is_set("RANK") && !is_set("WORLD_SIZE") && !is_set("MASTER_ADDR") && !is_set("MASTER_PORT")) {
    return std::nullopt;
  }
  // Every Indexed Job numbers its pods, even if they do not train together. Therefore the number counts as a rank only
  // if WORLD_SIZE is set.
  const bool indexed_job = !is_set("RANK") && is_set("WORLD_SIZE") && is_set("JOB_COMPLETION_INDEX");
  const char* rank_name = indexed_job ? "JOB_COMPLETION_INDEX" : "RANK";

  Rendezvous result;
  if (is_set("WORLD_SIZE")) {
    ASSIGN_OR_RETURN(result.world_size, NumberIn(environment, "WORLD_SIZE", 1, kMostProcesses));
  }
  const bool alone = is_set("WORLD_SIZE") && is_set(rank_name) && result.world_size == 1;
  if (!alone) RETURN_IF_ERROR(CheckComplete(environment, rank_name));
  ASSIGN_OR_RETURN(result.rank, NumberIn(environment, rank_name, 0, kMostProcesses - 1));
  if (result.rank >= result.world_size) {
    return absl::InvalidArgumentError(absl::StrCat("the environment's ", rank_name, " is ", result.rank,
                                                   ", but WORLD_SIZE=", result.world_size, " has ranks 0 to ",
                                                   result.world_size - 1));
  }
  if (is_set("LOCAL_RANK")) {
    ASSIGN_OR_RETURN(result.local_rank, NumberIn(environment, "LOCAL_RANK", 0, result.world_size - 1));
  }
  if (is_set("TORCHELASTIC_RESTART_COUNT")) {
    ASSIGN_OR_RETURN(result.restarts, NumberIn(environment, "TORCHELASTIC_RESTART_COUNT", 0, 1 << 30));
  }
  if (is_set("MASTER_ADDR")) result.master_address = environment("MASTER_ADDR");
  if (is_set("MASTER_PORT")) {
    ASSIGN_OR_RETURN(result.master_port, NumberIn(environment, "MASTER_PORT", 1, 65535));
  }
  if (!alone && result.master_address.empty()) {
    return absl::InvalidArgumentError("the environment's MASTER_ADDR is empty; set it to the address of rank 0");
  }
  // Like PyTorch, accepts only the exact text "True".
  const char* agent = environment("TORCHELASTIC_USE_AGENT_STORE");
  result.agent_hosts_store = agent != nullptr && std::strcmp(agent, "True") == 0;
  return result;
}

}  // namespace vitrine

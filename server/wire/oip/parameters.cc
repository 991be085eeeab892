// SPDX-License-Identifier: Apache-2.0
#include "server/wire/oip/parameters.h"

#include <algorithm>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/utf8.h"

namespace vitrine {
namespace {

using inference::InferParameter;

// Returns false for a parameter without a value (a JSON null). Such a parameter counts as absent.
bool IsSet(const InferParameter& parameter) {
  return parameter.parameter_choice_case() != InferParameter::PARAMETER_CHOICE_NOT_SET;
}

const InferParameter* Find(const InferParameters& parameters, const std::string& name) {
  const auto found = parameters.find(name);
  const bool is_set = found != parameters.end() && IsSet(found->second);
  return is_set ? &found->second : nullptr;
}

absl::Status WrongType(const std::string& name, const char* wanted) {
  return absl::InvalidArgumentError(absl::StrCat("parameter \"", name, "\" must be ", wanted));
}

}  // namespace

absl::StatusOr<std::optional<int64_t>> WholeNumber(const InferParameters& parameters, const std::string& name) {
  const InferParameter* found = Find(parameters, name);
  if (found == nullptr) return std::nullopt;
  if (found->parameter_choice_case() == InferParameter::kInt64Param) return found->int64_param();
  if (found->parameter_choice_case() == InferParameter::kUint64Param &&
      found->uint64_param() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return static_cast<int64_t>(found->uint64_param());
  }
  return WrongType(name, "a whole number");
}

absl::StatusOr<std::optional<bool>> Truth(const InferParameters& parameters, const std::string& name) {
  const InferParameter* found = Find(parameters, name);
  if (found == nullptr) return std::nullopt;
  if (found->parameter_choice_case() == InferParameter::kBoolParam) return found->bool_param();
  return WrongType(name, "true or false");
}

absl::StatusOr<std::optional<std::string>> Text(const InferParameters& parameters, const std::string& name) {
  const InferParameter* found = Find(parameters, name);
  if (found == nullptr) return std::nullopt;
  if (found->parameter_choice_case() == InferParameter::kStringParam) return found->string_param();
  return WrongType(name, "a string");
}

absl::Status CheckNames(const InferParameters& parameters, std::string_view whose,
                        std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : parameters) {
    if (!IsSet(value) || std::find(known.begin(), known.end(), name) != known.end()) continue;
    if (absl::StartsWith(name, "shared_memory")) {
      return absl::UnimplementedError(absl::StrCat(
          std::string(whose), " requests shared memory, which is not supported; send the values themselves"));
    }
    return absl::InvalidArgumentError(absl::StrCat(
        std::string(whose), " has the parameter \"", Shown(name), "\", which is unknown; valid parameters: ",
        known.size() == 0 ? "none" : absl::StrJoin(known, ", ", [](std::string* out, std::string_view each) {
          out->append(each);
        })));
  }
  return absl::OkStatus();
}

}  // namespace vitrine

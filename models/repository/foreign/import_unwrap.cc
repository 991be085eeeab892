// SPDX-License-Identifier: Apache-2.0
// Removes what training adds to a model's names: wrapper prefixes, copies of the model, extra tensors.
#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "models/repository/files/text.h"
#include "models/repository/foreign/import.h"

namespace vitrine {
namespace {

// Possible names of the class token. Every importable model has a class token, so UnwrapForeign takes the text before
// this name as the prefix of all names of the model.
constexpr std::string_view kClassTokens[] = {"vit.embeddings.cls_token",
                                             "deit.embeddings.cls_token",
                                             "embeddings.cls_token",
                                             "cls_token",
                                             "vision_model.embeddings.class_embedding",
                                             "visual.class_embedding"};

// Returns true for segments that torch.compile, FSDP and activation checkpointing insert into names, at any depth.
bool IsWrapper(const std::string& segment) {
  return segment == "_orig_mod" || segment == "_fsdp_wrapped_module" || segment == "_checkpoint_wrapped_module";
}

std::string WithoutWrappers(const std::string& name) {
  std::vector<std::string> segments = absl::StrSplit(name, '.');
  std::erase_if(segments, IsWrapper);
  return absl::StrJoin(segments, ".");
}

absl::StatusOr<TensorMap> WithoutWrappers(TensorMap tensors) {
  TensorMap unwrapped;
  while (!tensors.empty()) {
    auto tensor = tensors.extract(tensors.begin());
    const std::string name = tensor.key();
    tensor.key() = WithoutWrappers(name);
    if (!unwrapped.insert(std::move(tensor)).inserted) {
      return absl::FailedPreconditionError(
          absl::StrCat("tensor ", Quoted(name), " is in the file twice, with and without a wrapper's prefix"));
    }
  }
  return unwrapped;
}

// Returns the prefixes of all copies of a model.
std::set<std::string> Prefixes(const TensorMap& tensors) {
  std::set<std::string> prefixes;
  for (const auto& [name, tensor] : tensors) {
    for (const std::string_view token : kClassTokens) {
      if (!name.ends_with(token)) continue;
      const std::string prefix = name.substr(0, name.size() - token.size());
      if (prefix.empty() || prefix.ends_with('.')) {
        prefixes.insert(prefix);
        break;
      }
    }
  }
  return prefixes;
}

// Returns true if the prefix has a word by which timm, Lightning's callbacks or torch.optim.swa_utils mark a moving
// average of the weights.
bool IsAverage(const std::string& prefix) {
  const std::vector<std::string> words = absl::StrSplit(absl::AsciiStrToLower(prefix), absl::ByAnyChar("._"));
  return std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word == "ema" || word == "swa" || word == "averaged" || word == "average";
  });
}

std::string Listed(const std::set<std::string>& prefixes) {
  return absl::StrJoin(prefixes, ", ",
                       [](std::string* text, const std::string& prefix) { absl::StrAppend(text, Quoted(prefix)); });
}

absl::StatusOr<std::string> Choose(const std::set<std::string>& prefixes, const std::optional<std::string>& asked) {
  if (asked.has_value()) {
    if (prefixes.contains(*asked)) return *asked;
    return absl::FailedPreconditionError(
        absl::StrCat("no tensor name begins with --prefix ", Quoted(*asked), "; there are ", Listed(prefixes)));
  }
  if (prefixes.size() == 1) return *prefixes.begin();
  std::vector<std::string> averages;
  std::copy_if(prefixes.begin(), prefixes.end(), std::back_inserter(averages), IsAverage);
  if (averages.size() == 1) return averages.front();
  return absl::FailedPreconditionError(absl::StrCat("the file holds ", prefixes.size(),
                                                    " copies of a model with the prefixes ", Listed(prefixes),
                                                    "; choose one with --prefix"));
}

}  // namespace

absl::StatusOr<UnwrappedWeights> UnwrapForeign(TensorMap tensors, const std::optional<std::string>& prefix) {
  UnwrappedWeights result;
  ASSIGN_OR_RETURN(result.tensors, WithoutWrappers(std::move(tensors)));
  const std::set<std::string> prefixes = Prefixes(result.tensors);
  if (prefixes.empty()) return result;  // RenameForeign reports the missing tensors
  ASSIGN_OR_RETURN(result.prefix, Choose(prefixes, prefix));
  if (result.prefix.empty() && prefixes.size() == 1) return result;
  result.others.assign(prefixes.begin(), prefixes.end());
  std::erase(result.others, result.prefix);
  TensorMap chosen;
  for (auto& entry : result.tensors) {
    const std::string& name = entry.first;
    const bool of_another = std::any_of(result.others.begin(), result.others.end(), [&](const std::string& other) {
      return other.size() > result.prefix.size() && name.starts_with(other);
    });
    if (name.starts_with(result.prefix) && !of_another) {
      chosen.emplace(name.substr(result.prefix.size()), std::move(entry.second));
    } else {
      result.outside.emplace(name, std::move(entry.second));
    }
  }
  result.tensors = std::move(chosen);
  return result;
}

}  // namespace vitrine

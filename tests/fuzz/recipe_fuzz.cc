// SPDX-License-Identifier: Apache-2.0
// Parses arbitrary text as a recipe, and as assignments in the form of --set. The text must be rejected with a status,
// or give a recipe that stays equal when it is printed and parsed again. Its model must be built or rejected. The
// assignments follow the first zero byte, one per line.
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_split.h"
#include "models/reference/model.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/mutate_message.h"
#include "tests/fuzz/require.h"
#include "trainer/lab/sequence_model.h"
#include "trainer/recipe/recipe.h"

namespace vitrine {
namespace {

void CheckRecipe(const v1::Recipe& recipe) {
  const MemoryFile printed(PrintRecipe(recipe));
  const auto again = FindRecipe(printed.path());
  Require(again.ok() && PrintRecipe(*again) == PrintRecipe(recipe));
  if (!ValidateRecipe(recipe).ok()) return;
  ForwardContext context;
  SetDropping(recipe, context);
  if (recipe.model().empty()) return;
  const auto config = ConfigOf(recipe);
  if (!config.ok()) return;
  // The meta device computes the shapes of tensors without allocating their memory.
  const auto model = MakeModel(*config, recipe.seed(), at::kMeta);
  Require(model.ok() || model.status().code() == absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace vitrine

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  const std::string_view both(reinterpret_cast<const char*>(data), size);
  if (both.find('\0') != std::string_view::npos) return LLVMFuzzerMutate(data, size, max_size);
  vitrine::v1::Recipe scratch;
  return vitrine::MutateText(scratch, data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using vitrine::Require;
  const std::string_view both(reinterpret_cast<const char*>(data), size);
  const size_t end = both.find('\0');
  const vitrine::MemoryFile file(both.substr(0, end));
  auto recipe = vitrine::FindRecipe(file.path());
  if (!recipe.ok()) {
    Require(recipe.status().code() == absl::StatusCode::kInvalidArgument);
    return 0;
  }
  if (end != std::string_view::npos) {
    const std::string assignments(both.substr(end + 1));
    for (const absl::string_view assignment : absl::StrSplit(assignments, '\n')) {
      const absl::Status set = vitrine::ApplyOverride(std::string(assignment), *recipe);
      if (set.ok()) continue;
      Require(set.code() == absl::StatusCode::kInvalidArgument);
      return 0;
    }
  }
  vitrine::CheckRecipe(*recipe);
  return 0;
}

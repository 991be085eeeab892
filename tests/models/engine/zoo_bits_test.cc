// SPDX-License-Identifier: Apache-2.0
// Tests, at the widths of the zoo's models, that an image has the same bits in any batch. By default, tests the
// narrowest model of each family with the best instruction set. With VITRINE_WHOLE_ZOO=1, tests every model with every
// instruction set of this CPU, which takes long (script/nightly).
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "models/zoo.h"
#include "tests/models/engine/company.h"

namespace vitrine::testing {
namespace {

// Reduces the depth to two blocks: all blocks of a kind have the same shapes, so further blocks would test nothing new.
// Keeps the depth of EIT, whose blocks differ in shape.
v1::ModelConfig Shortened(v1::ModelConfig config) {
  if (config.has_vit()) config.mutable_vit()->set_depth(2);
  if (config.has_kv()) config.mutable_kv()->set_depth(2);
  if (config.has_xcit()) config.mutable_xcit()->set_depth(2);
  if (config.has_xvit()) config.mutable_xvit()->set_depth(2);
  if (config.has_eit_baseline()) config.mutable_eit_baseline()->set_depth(2);
  return config;
}

// Returns image sizes: the fixed size, or squares and rectangles with the fewest tokens.
std::vector<std::pair<int, int>> Sizes(const v1::Preprocessing& preprocessing) {
  if (preprocessing.has_fixed()) return {{preprocessing.fixed().height(), preprocessing.fixed().width()}};
  const v1::NativeResolution& native = preprocessing.native();
  int side = 1;
  while (side * side < native.min_tokens()) ++side;
  std::vector<std::pair<int, int>> sizes;
  for (const auto& [rows, columns] :
       {std::pair(side, side), {side, side + 1}, {2 * side, side}, {side + 1, side + 3}}) {
    if (rows * columns <= native.max_tokens()) sizes.emplace_back(rows * native.cell(), columns * native.cell());
  }
  return sizes;
}

bool Whole() {
  return std::getenv("VITRINE_WHOLE_ZOO") != nullptr;
}

// Returns models of the zoo. If several models differ only in depth, returns the first of them.
std::vector<EngineForm> ZooForms() {
  std::vector<EngineForm> forms;
  std::set<std::string> seen;
  std::map<int, std::pair<int64_t, size_t>> narrowest;  // by family: parameters, index in forms
  for (const ZooRow& row : Zoo()) {
    const v1::ModelConfig config = Shortened(row.config);
    if (config.has_null() || !seen.insert(config.SerializeAsString()).second) continue;
    const EngineForm form = {std::string(row.name), config, Sizes(config.preprocessing())};
    const auto [place, first] =
        narrowest.try_emplace(static_cast<int>(config.family_case()), row.parameters, forms.size());
    if (Whole() || first) {
      forms.push_back(form);
    } else if (row.parameters < place->second.first) {
      place->second.first = row.parameters;
      forms[place->second.second] = form;
    }
  }
  return forms;
}

std::vector<cpu::CpuPath> Paths() {
  return Whole() ? EnginePaths() : std::vector{EnginePaths().back()};
}

class ZooBits : public ::testing::TestWithParam<std::tuple<EngineForm, cpu::CpuPath>> {};

TEST_P(ZooBits, DependOnlyOnTheImage) {
  const auto& [form, path] = GetParam();
  Company(form, path, /*images=*/3).ExpectChangesNothing({.batches = 8, .most_images = 4});
}

INSTANTIATE_TEST_SUITE_P(Rows, ZooBits,
                         ::testing::Combine(::testing::ValuesIn(ZooForms()), ::testing::ValuesIn(Paths())),
                         [](const auto& info) { return NameOf(std::get<0>(info.param), std::get<1>(info.param)); });

}  // namespace
}  // namespace vitrine::testing

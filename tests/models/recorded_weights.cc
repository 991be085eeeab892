// SPDX-License-Identifier: Apache-2.0
#include "tests/models/recorded_weights.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "models/zoo.h"
#include "tests/models/small_forms.h"
#include "tests/paths.h"

namespace vitrine::testing {

void WeightsDigest::Add(const void* bytes, int64_t count) {
  const auto* next = static_cast<const unsigned char*>(bytes);
  for (int64_t i = 0; i < count; ++i) state_ = (state_ ^ next[i]) * 0x100000001b3;
}

void WeightsDigest::Add(const std::string& name, const std::vector<int64_t>& shape, bool trained, bool decays) {
  std::string line = name;
  for (const int64_t size : shape) absl::StrAppend(&line, " ", size);
  absl::StrAppend(&line, trained ? " trained" : " stored", decays ? " decays\n" : "\n");
  Add(line.data(), static_cast<int64_t>(line.size()));
}

std::string WeightsDigest::hex() const {
  return absl::StrFormat("%016x", state_);
}

std::vector<RecordedWeights> ReadRecordedWeights() {
  std::map<std::string, v1::ModelConfig> configs;
  for (const ZooRow& row : Zoo()) configs[std::string(row.name)] = row.config;
  for (const SmallForm& form : SmallForms()) configs["small/" + form.name] = form.config;
  std::ifstream file(std::string(VITRINE_SOURCE) + "/tests/models/recorded_weights.txt");
  std::vector<RecordedWeights> rows;
  RecordedWeights row;
  while (file >> row.name >> row.structure >> row.initial) {
    EXPECT_TRUE(configs.contains(row.name)) << row.name << " is recorded and not in the zoo";
    row.config = configs[row.name];
    rows.push_back(row);
  }
  return rows;
}

}  // namespace vitrine::testing

// SPDX-License-Identifier: Apache-2.0
#include "tests/models/recorded_weights.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "models/zoo.h"
#include "models/zoo/small_forms.h"
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
  const std::string path = std::string(VITRINE_SOURCE) + "/tests/models/recorded_weights.txt";
  std::ifstream file(path);
  EXPECT_TRUE(file.is_open()) << path << " cannot be read";
  std::vector<RecordedWeights> rows;
  for (RecordedWeights row; file >> row.name;) {
    EXPECT_TRUE(file >> row.structure >> row.initial) << path << ": the row of " << row.name << " is not whole";
    const auto config = configs.extract(row.name);  // extracted, so that a second row of the same name is detected
    EXPECT_FALSE(config.empty()) << row.name << " is recorded twice, or is not in the zoo any more";
    if (config.empty()) continue;
    row.config = config.mapped();
    rows.push_back(row);
  }
  EXPECT_GE(rows.size(), 206u) << path << " has lost rows";
  return rows;
}

}  // namespace vitrine::testing

// SPDX-License-Identifier: Apache-2.0
// Compares every config of the zoo with its stored text. A comparison of parameter counts would not detect a wrong
// number of heads, scale or statistic.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "models/zoo.h"
#include "models/zoo/published.h"
#include "tests/stored_text.h"

namespace vitrine {
namespace {

TEST(Zoo, EveryVariantEqualsItsStoredConfig) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  std::string zoo;
  for (const ZooRow& row : Zoo()) {
    std::string config;
    printer.PrintToString(row.config, &config);
    absl::StrAppend(&zoo, std::string(row.name), ": ", config, "\n");
    if (const std::optional<Published> print = FindPublished(row.name)) {
      absl::StrAppend(&zoo, "  printed: side ", print->side, ", convention ", static_cast<int>(print->convention),
                      "\n");
    }
  }
  ExpectStored("zoo.txt", zoo);
}

}  // namespace
}  // namespace vitrine

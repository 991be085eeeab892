// SPDX-License-Identifier: Apache-2.0
#include "client/commands/output/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/commands/output/text.h"
#include "tests/stored_text.h"

namespace vitrine {
namespace {

Table Animals(int width, bool colour = false) {
  return Table({.width = width, .colour = colour}, {{"name", 7}, {"sounds", 40}, {"legs", 4, Column::Align::kRight}},
               1);
}

const Row kCat = {.cells = {{"cat"}, {}, {"4"}},
                  .flow = {{"meow", Style::kStrong}, {"purr"}, {"hiss"}, {"chirp"}, {"yowl"}, {"chatter"}},
                  .notes = {{"out/cat.png", Style::kLink}}};

TEST(Table, NoLineIsWiderThanThePage) {
  Row row = kCat;
  row.cells[0].text = "a very long name of a cat";
  row.flow.push_back({"a sound that nobody ever managed to spell in so few columns"});
  row.notes.push_back({"a sentence of many words that is folded where a word ends"});
  for (int width = 20; width < 80; ++width) {
    const Table table = Animals(width);
    for (const auto& line : absl::StrSplit(table.Header() + table.Render(row), '\n')) {
      EXPECT_LE(DisplayWidth(line), width) << line;
    }
  }
}

TEST(Table, HasTheStoredFormAtEveryWidth) {
  const Row wordy = {
      .cells = {{"an animal with a long name"}, {"12"}, {}, {"4", Style::kFaint}},
      .flow = {{"a very long sound indeed"}, {"purr", Style::kStrong}},
      .notes = {{"a sentence of many words that is folded where a word ends", Style::kStrong}, {"short"}}};
  const Row empty = {.cells = {{"cat"}, {}, {}, {}}, .flow = {}, .notes = {}};
  std::string text;
  for (int width = 8; width < 72; width += 3) {
    for (const size_t flow : {1u, 2u, 3u}) {
      std::vector<Column> columns = {{"name", 12}, {"age", 2, Column::Align::kRight}, {"sounds", 9}, {"legs"}};
      Row one = wordy;
      std::swap(columns[2], columns[flow]);
      std::swap(one.cells[2], one.cells[flow]);
      columns[flow].width = 30;
      const Table table({.width = width, .colour = width % 2 == 0}, columns, flow);
      absl::StrAppend(&text, width, " columns:\n", table.Header(), table.Render(one), table.Render(empty));
    }
  }
  ExpectStored("table_widths.txt", text);
}

TEST(Table, NeverCutsAPath) {
  Row row = kCat;
  row.notes = {{"a/long/path/to/some/file/that/does/not/fit.png"}};
  EXPECT_THAT(Animals(36).Render(row), testing::HasSubstr("\n    a/long/path/to/some/file/that/does/not/fit.png\n"));
}

TEST(Table, ColoursDoNotChangeTheColumns) {
  const std::string text = Animals(60, true).Render(kCat);
  EXPECT_THAT(text, testing::StartsWith("cat      \x1b[1mmeow\x1b[0m  purr  hiss  chirp  yowl  chatter       4\n"));
  EXPECT_THAT(text, testing::HasSubstr("\x1b[36mout/cat.png\x1b[0m"));
}

TEST(Table, AlignsWideCharacters) {
  const Table table = Animals(60);
  const Row row = {.cells = {{"猫"}, {}, {"4"}}, .flow = {{"ニャー"}}, .notes = {}};
  EXPECT_EQ(table.Render(row), "猫       ニャー                                       4\n");
}

}  // namespace
}  // namespace vitrine

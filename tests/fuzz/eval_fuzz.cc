// SPDX-License-Identifier: Apache-2.0
// Reads arbitrary bytes as journals, CSV files and label maps of `vitrine eval`. They must be rejected with a status,
// or give values in range that stay equal when they are written and read again.
#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/eval/journal.h"
#include "client/eval/metrics.h"
#include "common/data/csv.h"
#include "common/data/label_map.h"
#include "tests/fuzz/require.h"

namespace vitrine {
namespace {

// Puts the right checksum before each line, because mutations would hardly ever make a checksum valid.
std::string WithChecksums(std::string_view text) {
  std::string journal;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const auto sum = crc32(0, reinterpret_cast<const Bytef*>(line.data()), static_cast<uInt>(line.size()));
    absl::StrAppend(&journal, absl::StrFormat("%08x ", sum), std::string(line), "\n");
  }
  return journal;
}

// Returns the start of a journal: a valid first line. Without it, no line of an image would be read.
std::string Begun() {
  Evaluation e;
  for (const char* label : {"cat", "dog"}) {
    e.model.add_labels(label);
    e.data_labels.push_back(label);
  }
  e.settings.data_images = 100;
  e.settings.label_map = {0, 1};
  return HeaderLine(e);
}

void TryJournal(const std::string& text) {
  auto read = ParseJournal(text);
  if (!read.ok() || !read->begun) return;
  Require(read->valid_bytes <= text.size());
  // Any accepted journal must give metrics.
  Evaluation& e = read->evaluation;
  e.expected = e.settings.data_images;
  const EvaluationMetrics metrics = ComputeMetrics(e);
  Require(metrics.top1 >= 0 && metrics.top1 <= 1);
  std::string again = HeaderLine(e);
  for (const Prediction& p : e.predictions) again += ImageLine(p);
  const auto second = ParseJournal(again);
  Require(second.ok() && second->valid_bytes == again.size());
  Require(second->evaluation.predictions.size() == e.predictions.size());
  for (size_t i = 0; i < e.predictions.size(); ++i) {
    Require(ImageLine(e.predictions[i]) == ImageLine(second->evaluation.predictions[i]));
  }
}

void TryTables(const std::string& text) {
  if (const auto rows = ParseCsv(text); rows.ok()) {
    int64_t line = 0;
    for (const CsvRow& row : *rows) {
      Require(row.line > line && !row.cells.empty());
      line = row.line;
    }
  }
  if (const auto rows = ParseLabelMap(text, "map"); rows.ok()) {
    const auto match = MatchLabels({"cat", "1", "a"}, {"Cat", "dog", "x"}, *rows);
    if (!match.ok()) return;
    Require(match->classes.size() == 3);
    for (const int32_t index : match->classes) Require(index >= -1 && index < 3);
  }
}

}  // namespace
}  // namespace vitrine

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  static const std::string begun = vitrine::Begun();
  switch (data[0] % 4) {
    case 0:
      vitrine::TryJournal(text);
      break;
    case 1:
      vitrine::TryJournal(vitrine::WithChecksums(text));
      break;
    case 2:
      vitrine::TryJournal(begun + vitrine::WithChecksums(text));
      break;
    case 3:
      vitrine::TryTables(text);
      break;
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "client/commands/classify_page.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/commands/output/text.h"

namespace vitrine {
namespace {

constexpr size_t kPredictions = 1;  // index of the flowing column (see Table)
constexpr int kWidestLabel = 24;
constexpr int kPercentWidth = 7;  // "100.0 %"
constexpr int kUnsureWidth = sizeof(kUnsure) - 1;
constexpr size_t kMostBatchesListed = 6;

int LabelWidth(const std::vector<std::string>& labels) {
  int width = 1;
  for (const std::string& label : labels) width = std::max(width, DisplayWidth(Printable(label)));
  return std::min(width, kWidestLabel);
}

std::string Count(int n, const char* one, const char* many) {
  return absl::StrCat(n, " ", n == 1 ? one : many);
}

std::string Time(double seconds) {
  return seconds < 1 ? absl::StrFormat("%.1f ms", seconds * 1e3) : absl::StrFormat("%.2f s", seconds);
}

std::vector<Item> Predictions(const v1::ClassifyResponse& answer, int label_width) {
  std::vector<Item> items;
  for (const v1::Prediction& prediction : answer.predictions()) {
    std::string label = CutEnd(Printable(prediction.label()), kWidestLabel);
    if (label.empty()) label = absl::StrCat("class ", prediction.index());
    const double percent = 100.0 * prediction.probability();
    if (items.empty()) {
      if (answer.unsure()) label = absl::StrCat(kUnsure, label);
      // Pads the label, so that the best predictions of all rows are aligned.
      label += std::string(static_cast<size_t>(std::max(0, label_width - DisplayWidth(label))), ' ');
      items.push_back({absl::StrFormat("%s %5.1f %%", label, percent), Style::kStrong});
    } else {
      items.push_back({absl::StrFormat("%s %.1f %%", label, percent), Style::kPlain});
    }
  }
  return items;
}

}  // namespace

std::vector<Column> ClassifyPage::Columns(const Page& page, const Expected& expected) {
  int name = 0;
  for (const std::string& path : expected.images) name = std::max(name, DisplayWidth(Printable(path)));
  name = std::min(name, page.width / 3);
  const int k = std::max(1, expected.predictions);
  const int predictions =
      k * (LabelWidth(expected.labels) + 1 + kPercentWidth) + 2 * (k - 1) + (expected.may_be_unsure ? kUnsureWidth : 0);
  std::vector<Column> columns = {{"image", name},
                                 {"predictions", predictions},
                                 {"grid", 5, Column::Align::kRight},
                                 {"batch", 9},
                                 {"time", 8, Column::Align::kRight}};
  // Adds a column for the overlay's path if the page is wide enough. Otherwise the path is on the next line.
  int used = 0;
  for (const Column& column : columns) used += column.width + 2;
  if (expected.overlay_width > 0 && used + expected.overlay_width <= page.width) {
    columns.push_back({"attention", expected.overlay_width});
  }
  return columns;
}

ClassifyPage::ClassifyPage(const Page& page, const Expected& expected)
    : label_width_(LabelWidth(expected.labels) + (expected.may_be_unsure ? kUnsureWidth : 0)),
      columns_(Columns(page, expected)),
      table_(page, columns_, kPredictions) {}

std::string ClassifyPage::Header() const {
  return table_.Header();
}

std::string ClassifyPage::Text(const std::string& path, const v1::ClassifyResponse& answer,
                               const std::vector<std::string>& overlays) {
  ++images_;
  const v1::ServedBy& served = answer.served_by();
  served_by_.insert(absl::StrFormat("%s version %d, %s on %s, weights %s", Printable(served.model()), served.version(),
                                    Printable(served.precision()), Printable(served.device()),
                                    Printable(served.weights_sha256().substr(0, 12))));
  batches_[answer.batch().id()] = answer.batch();

  Row row;
  row.cells = {{Printable(path)},
               {},
               {absl::StrCat(answer.grid().rows(), "x", answer.grid().columns())},
               {absl::StrCat("#", answer.batch().id(), " of ", answer.batch().images())},
               {Time(answer.timings().total()), Style::kFaint}};
  row.flow = Predictions(answer, label_width_);
  for (const std::string& overlay : overlays) row.notes.push_back({Printable(overlay), Style::kLink});
  if (columns_.size() > row.cells.size()) {
    row.cells.push_back(row.notes.empty() ? Item{} : row.notes.front());
    if (!row.notes.empty()) row.notes.erase(row.notes.begin());
  }
  return table_.Render(row);
}

std::string ClassifyPage::Footer(absl::Duration elapsed) const {
  if (images_ == 0) return "";
  const double seconds = std::max(absl::ToDoubleSeconds(elapsed), 1e-6);
  std::string text = absl::StrFormat("\n%s in %s, %.1f per second\n", Count(images_, "image", "images"), Time(seconds),
                                     images_ / seconds);
  for (const std::string& served : served_by_) absl::StrAppend(&text, served, "\n");
  if (batches_.size() <= kMostBatchesListed) {
    for (const auto& [id, batch] : batches_) {
      absl::StrAppend(&text, "batch #", id, ": ", Count(batch.images(), "image", "images"), ", ",
                      Count(batch.grids(), "grid", "grids"), ", ", Count(batch.tokens(), "token", "tokens"), "\n");
    }
    return text;
  }
  int fewest = batches_.begin()->second.images(), most = 0, grids = 0;
  for (const auto& [id, batch] : batches_) {
    fewest = std::min(fewest, batch.images());
    most = std::max(most, batch.images());
    grids = std::max(grids, batch.grids());
  }
  absl::StrAppend(&text, batches_.size(), " batches of ", fewest, " to ", most, " images, up to ",
                  Count(grids, "grid", "grids"), " in one\n");
  return text;
}

}  // namespace vitrine

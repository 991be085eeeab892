// SPDX-License-Identifier: Apache-2.0
// Rows of tokens, cells and images, and copies between them.
#include <algorithm>

#include "models/engine/cpu/steps/steps.h"

namespace vitrine::engine {
namespace {

void CopyRows(View<const float> from, View<float> to) {
  for (int64_t row = 0; row < from.rows; ++row) std::copy_n(from.Row(row), from.columns, to.Row(row));
}

class Custom : public StepOf<CustomStep> {
 public:
  using StepOf::StepOf;
  int64_t Scratch(const Frame& frame) const override { return 2 * frame.most_tokens() * step_.x.columns; }
  void Run(const Frame& frame) const override {
    if (!frame.Leads()) return;
    for (int image = 0; image < frame.images(); ++image) {
      const View<float> x = frame.CellsOf(step_.x, image), y = frame.CellsOf(step_.y, image);
      // `forward` requires contiguous rows.
      const View<float> from{frame.scratch(), x.rows, x.columns, x.columns};
      const View<float> to{from.Row(x.rows), x.rows, x.columns, x.columns};
      CopyRows(x, from);
      step_.custom.forward(frame.grid(image), x.columns, from.data, to.data);
      CopyRows(to, y);
      CopyRows(frame.PrefixOf(step_.x, image), frame.PrefixOf(step_.y, image));
    }
  }
};

}  // namespace

void Compute(const FillStep& step, const Frame& frame) {
  const View<float> y = frame.ShareOf(frame.At(step.y));
  for (int64_t i = 0; i < y.rows; ++i) std::copy(step.row.begin(), step.row.end(), y.Row(i));
}

void Compute(const JoinClassStep& step, const Frame& frame) {
  for (int image = 0; image < frame.images(); ++image) {
    const View<float> y = frame.Of(step.y, image);
    for (size_t i = 0; frame.Leads() && i < step.rows.size(); ++i) {
      std::copy_n(frame.Of(step.rows[i], image).data, y.columns, y.Row(static_cast<int64_t>(i)));
    }
    CopyRows(frame.ShareOf(frame.Of(step.cells, image)), frame.ShareOf(frame.CellsOf(step.y, image)));
  }
}

void Compute(const TakeClassStep& step, const Frame& frame) {
  if (!frame.Leads()) return;
  for (int image = 0; image < frame.images(); ++image) {
    const View<float> y = frame.Of(step.y, image);
    std::copy_n(frame.Of(step.x, image).Row(step.token), step.x.columns, y.Row(y.rows > 1 ? step.token : 0));
  }
}

void Compute(const TakeCellsStep& step, const Frame& frame) {
  for (int image = 0; image < frame.images(); ++image) {
    CopyRows(frame.ShareOf(frame.CellsOf(step.x, image)), frame.ShareOf(frame.Of(step.y, image)));
  }
}

void Compute(const MeanOfCellsStep& step, const Frame& frame) {
  if (!frame.Leads()) return;
  for (int image = 0; image < frame.images(); ++image) {
    const View<float> x = frame.CellsOf(step.x, image);
    float* const y = frame.Of(step.y, image).data;
    std::fill_n(y, x.columns, 0.0f);
    for (int64_t row = 0; row < x.rows; ++row) {
      for (int64_t c = 0; c < x.columns; ++c) y[c] += x.Row(row)[c];
    }
    for (int64_t c = 0; c < x.columns; ++c) y[c] /= static_cast<float>(x.rows);
  }
}

void Compute(const HandOutStep& step, const Frame& frame) {
  if (frame.tokens == nullptr || !frame.Leads()) return;
  const auto wanted = frame.tokens->find(step.stage);
  if (wanted == frame.tokens->end()) return;
  const View<float> x = frame.At(step.x);
  FloatArray& rows = wanted->second.rows;
  if (rows.empty()) rows.shape = {0, x.columns};
  rows.shape[0] += x.rows;
  for (int64_t i = 0; i < x.rows; ++i) rows.values.insert(rows.values.end(), x.Row(i), x.Row(i) + x.columns);
  wanted->second.has_prefix = frame.RowsOfBuffer(step.x) == RowsOf::kTokens;
}

StepPtr MakeCustom(const CustomStep& step) {
  return std::make_unique<Custom>(step);
}

}  // namespace vitrine::engine

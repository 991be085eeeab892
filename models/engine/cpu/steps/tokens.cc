// SPDX-License-Identifier: Apache-2.0
// Rows of tokens, cells and images, and copies between them.
#include <algorithm>
#include <utility>

#include "models/engine/cpu/steps/steps.h"

namespace vitrine::engine {
namespace {

void CopyRows(View<const float> from, View<float> to) {
  for (int64_t row = 0; row < from.rows; ++row) std::copy_n(from.Row(row), from.columns, to.Row(row));
}

class Fill : public Step {
 public:
  Fill(std::vector<float> row, Operand y) : row_(std::move(row)), y_(y) {}
  void Run(const Frame& frame) const override {
    const View<float> y = frame.ShareOf(frame.At(y_));
    for (int64_t i = 0; i < y.rows; ++i) std::copy(row_.begin(), row_.end(), y.Row(i));
  }

 private:
  const std::vector<float> row_;
  const Operand y_;
};

class JoinClass : public Step {
 public:
  JoinClass(std::vector<Operand> rows, Operand cells, Operand y) : rows_(std::move(rows)), cells_(cells), y_(y) {}
  void Run(const Frame& frame) const override {
    for (int image = 0; image < frame.images(); ++image) {
      for (size_t i = 0; frame.Leads() && i < rows_.size(); ++i) {
        std::copy_n(frame.Of(rows_[i], image).data, y_.columns, frame.Of(y_, image).Row(static_cast<int64_t>(i)));
      }
      CopyRows(frame.ShareOf(frame.Of(cells_, image)), frame.ShareOf(frame.CellsOf(y_, image)));
    }
  }

 private:
  const std::vector<Operand> rows_;
  const Operand cells_, y_;
};

class TakeClass : public OneToOne {
 public:
  TakeClass(Operand x, Operand y, int token) : OneToOne(x, y), token_(token) {}
  void Run(const Frame& frame) const override {
    if (!frame.Leads()) return;
    for (int image = 0; image < frame.images(); ++image) {
      const View<float> y = frame.Of(y_, image);
      std::copy_n(frame.Of(x_, image).Row(token_), x_.columns, y.Row(y.rows > 1 ? token_ : 0));
    }
  }

 private:
  const int token_;
};

class TakeCells : public OneToOne {
 public:
  using OneToOne::OneToOne;
  void Run(const Frame& frame) const override {
    for (int image = 0; image < frame.images(); ++image) {
      CopyRows(frame.ShareOf(frame.CellsOf(x_, image)), frame.ShareOf(frame.Of(y_, image)));
    }
  }
};

class MeanOfCells : public OneToOne {
 public:
  using OneToOne::OneToOne;
  void Run(const Frame& frame) const override {
    if (!frame.Leads()) return;
    for (int image = 0; image < frame.images(); ++image) {
      const View<float> x = frame.CellsOf(x_, image);
      float* const y = frame.Of(y_, image).data;
      std::fill_n(y, x.columns, 0.0f);
      for (int64_t row = 0; row < x.rows; ++row) {
        for (int64_t c = 0; c < x.columns; ++c) y[c] += x.Row(row)[c];
      }
      for (int64_t c = 0; c < x.columns; ++c) y[c] /= static_cast<float>(x.rows);
    }
  }
};

class HandOut : public Step {
 public:
  HandOut(Operand x, int stage) : x_(x), stage_(stage) {}
  void Run(const Frame& frame) const override {
    if (frame.tokens == nullptr || !frame.Leads()) return;
    const auto wanted = frame.tokens->find(stage_);
    if (wanted == frame.tokens->end()) return;
    const View<float> x = frame.At(x_);
    FloatArray& rows = wanted->second.rows;
    if (rows.empty()) rows.shape = {0, x.columns};
    rows.shape[0] += x.rows;
    for (int64_t i = 0; i < x.rows; ++i) rows.values.insert(rows.values.end(), x.Row(i), x.Row(i) + x.columns);
    wanted->second.has_prefix = frame.RowsOfBuffer(x_) == RowsOf::kTokens;
  }

 private:
  const Operand x_;
  const int stage_;
};

class Custom : public OneToOne {
 public:
  Custom(const program::Custom& custom, Operand x, Operand y) : OneToOne(x, y), custom_(custom) {}
  int64_t Scratch(const Frame& frame) const override { return 2 * frame.most_tokens() * x_.columns; }
  void Run(const Frame& frame) const override {
    if (!frame.Leads()) return;
    for (int image = 0; image < frame.images(); ++image) {
      const View<float> x = frame.CellsOf(x_, image), y = frame.CellsOf(y_, image);
      // `forward` requires contiguous rows.
      const View<float> from{frame.scratch(), x.rows, x.columns, x.columns};
      const View<float> to{from.Row(x.rows), x.rows, x.columns, x.columns};
      CopyRows(x, from);
      custom_.forward(frame.grid(image), x.columns, from.data, to.data);
      CopyRows(to, y);
      CopyRows(frame.PrefixOf(x_, image), frame.PrefixOf(y_, image));
    }
  }

 private:
  const program::Custom custom_;
};

}  // namespace

StepPtr MakeFill(std::vector<float> row, Operand y) {
  return std::make_unique<Fill>(std::move(row), y);
}
StepPtr MakeJoinClass(std::vector<Operand> rows, Operand cells, Operand y) {
  return std::make_unique<JoinClass>(std::move(rows), cells, y);
}
StepPtr MakeTakeClass(Operand x, Operand y, int token) {
  return std::make_unique<TakeClass>(x, y, token);
}
StepPtr MakeTakeCells(Operand x, Operand y) {
  return std::make_unique<TakeCells>(x, y);
}
StepPtr MakeMeanOfCells(Operand x, Operand y) {
  return std::make_unique<MeanOfCells>(x, y);
}
StepPtr MakeHandOut(Operand x, int stage) {
  return std::make_unique<HandOut>(x, stage);
}
StepPtr MakeCustom(const program::Custom& custom, Operand x, Operand y) {
  return std::make_unique<Custom>(custom, x, y);
}

}  // namespace vitrine::engine

// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/kept_layers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "models/engine/plan/plan.h"

namespace vitrine {
namespace {

// Collects the operators of a plan's bf16 and int8 steps, in groups.
class Groups {
 public:
  void Take(const engine::FoldedMatrix& matrix) {
    if (matrix.precision != Precision::kFp32) groups_.push_back(matrix.names);
  }
  template <class Step>
  void operator()(const Step& step) {
    if constexpr (requires { step.matrix; }) {
      Take(step.matrix);
    } else if constexpr (requires { step.precision; }) {
      if (step.precision != Precision::kFp32) groups_.push_back({step.op});
    }
  }
  void operator()(const engine::PerceptronStep& step) {
    Take(step.first.matrix);
    Take(step.second.matrix);
  }
  void operator()(const engine::StemStep& step) {
    if (step.layers[0].matrix.precision == Precision::kFp32) return;
    OperatorGroup& group = groups_.emplace_back();
    for (const engine::StemConvolution& layer : step.layers) group.push_back(layer.matrix.op->name);
  }
  // Puts all depthwise convolutions whose GELU depends on the precision into one group.
  void operator()(const engine::DepthwiseStep& step) {
    if (step.precision == Precision::kFp32 || step.scale.empty()) return;
    if (!activated_.has_value()) {
      activated_ = groups_.size();
      groups_.emplace_back();
    }
    groups_[*activated_].push_back(step.op);
  }

  std::vector<OperatorGroup> Get() && { return std::move(groups_); }

 private:
  std::vector<OperatorGroup> groups_;
  std::optional<size_t> activated_;
};

}  // namespace

std::vector<OperatorGroup> NarrowableOperators(const program::Program& program) {
  engine::ZeroWeights weights(program);
  const PrecisionChoice narrow = {Precision::kBf16, {}};
  const auto plan = engine::Lower(program, weights, narrow, /*has_bf16=*/true, /*tokens=*/true, /*head_rows=*/true);
  if (!plan.ok()) return {};  // the engine rejects the model in every precision
  Groups groups;
  for (const engine::PlanStep& step : plan->steps) std::visit(groups, step.settings);
  return std::move(groups).Get();
}

std::vector<size_t> SortByError(std::span<const double> errors) {
  const auto rank = [&](size_t place) {
    return std::isnan(errors[place]) ? std::numeric_limits<double>::infinity() : errors[place];
  };
  std::vector<size_t> places(errors.size());
  std::iota(places.begin(), places.end(), size_t{0});
  std::stable_sort(places.begin(), places.end(), [&](size_t a, size_t b) { return rank(a) > rank(b); });
  return places;
}

size_t KeepNext(size_t kept, size_t most) {
  return std::min(std::max(2 * kept, size_t{1}), most);
}

std::set<std::string> OperatorsAt(std::span<const OperatorGroup> groups, std::span<const size_t> places) {
  std::set<std::string> names;
  for (const size_t place : places) names.insert(groups[place].begin(), groups[place].end());
  return names;
}

std::set<std::string> OperatorsExcept(std::span<const OperatorGroup> groups, size_t place) {
  std::set<std::string> names;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (i != place) names.insert(groups[i].begin(), groups[i].end());
  }
  return names;
}

double RelativeError(std::span<const float> results, std::span<const float> others) {
  double difference = 0, all = 0;
  for (size_t i = 0; i < others.size(); ++i) {
    const double apart = double{results[i]} - others[i];
    difference += apart * apart;
    all += double{others[i]} * others[i];
  }
  if (difference == 0) return 0;
  const double error = std::sqrt(difference / all);
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

}  // namespace vitrine

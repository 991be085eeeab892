// SPDX-License-Identifier: Apache-2.0
#include "models/engine/kept_layers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "models/program/readers.h"

namespace vitrine {
namespace {

using program::Operator;

// True if the convolutions of images, which one step computes, are narrow when none of them is kept.
bool HasNarrowableStem(const program::Program& program) {
  return std::none_of(program.operators().begin(), program.operators().end(), [](const Operator& op) {
    const auto* convolve = op.As<program::Convolve>();
    return convolve != nullptr && convolve->pool > 0;
  });
}

}  // namespace

std::vector<OperatorGroup> NarrowableOperators(const program::Program& program) {
  constexpr size_t kNone = std::numeric_limits<size_t>::max();
  const bool has_stem = HasNarrowableStem(program);
  std::vector<OperatorGroup> groups;
  const program::SingleReaderIndex readers(program);
  size_t stem = kNone, activated = kNone;
  std::map<std::pair<int, int>, size_t> products;  // by input and weights: coded linears share a product
  const auto add = [&](size_t& group, const Operator& op) {
    if (group == kNone) {
      group = groups.size();
      groups.emplace_back();
    }
    groups[group].push_back(op.name);
  };
  for (const Operator& op : program.operators()) {
    size_t own = kNone;
    const auto* const linear = op.As<program::Linear>();
    const auto* const grid = op.As<program::ConvolveGrid>();
    const auto* const attend = op.As<program::Attend>();
    if (linear != nullptr && linear->code >= 0) {
      add(products.try_emplace({op.inputs[0].id, op.weights[0]}, kNone).first->second, op);
    } else if (linear != nullptr || (grid != nullptr && !grid->depthwise) ||
               (attend != nullptr && !attend->class_query) || op.As<program::AttendChannels>() != nullptr) {
      add(own, op);
    } else if (grid != nullptr && readers.GeluAfter(&op) != nullptr) {
      add(activated, op);
    } else if (has_stem && op.As<program::Convolve>() != nullptr) {
      add(stem, op);
    }
  }
  return groups;
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

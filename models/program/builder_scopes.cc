// SPDX-License-Identifier: Apache-2.0
// Names of weights, and the two orders of weights (checkpoint and drawing order), which follow from their scopes.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "models/program/builder.h"

namespace vitrine::program {

Builder::Scope* Builder::Open(const std::string& name) {
  Scope* const outer = scope_;
  for (const std::unique_ptr<Scope>& child : outer->children) {
    if (child->name == name) {
      scope_ = child.get();
      return outer;
    }
  }
  outer->children.push_back(std::make_unique<Scope>(Scope{.name = name, .parent = outer}));
  outer->added.push_back({.child = outer->children.back().get()});
  scope_ = outer->children.back().get();
  return outer;
}

std::string Builder::PathOf(const Scope& scope) {
  return scope.parent == nullptr ? "" : absl::StrCat(PathOf(*scope.parent), scope.name, ".");
}

std::string Builder::FullName(const std::string& name) const {
  return absl::StrCat(PathOf(*scope_), name);
}

std::string Builder::Free(const std::string& name) const {
  std::string free = name;
  for (int i = 2; names_.contains(FullName(free)); ++i) free = absl::StrCat(name, ".", i);
  return free;
}

void Builder::DrawsFirst(std::vector<std::string> names) {
  scope_->draws_first = std::move(names);
}

void Builder::ListsFirst(const std::vector<std::string>& names) {
  for (const std::string& name : names) scope_ = Open(name);
}

void Builder::ListWeights(const Scope& scope, std::vector<int>& order) const {
  order.insert(order.end(), scope.weights.begin(), scope.weights.end());
  for (const std::unique_ptr<Scope>& child : scope.children) ListWeights(*child, order);
}

void Builder::ListDrawings(const Scope& scope, std::vector<int>& order) const {
  const std::vector<std::string>& first = scope.draws_first;
  const auto rank = [&](const Scope::Member& member) {
    const auto names = [&](const std::string& each) {
      if (member.child == nullptr) {
        return program_.weights_[static_cast<size_t>(member.weight)].name == PathOf(scope) + each;
      }
      return member.child->name == each || absl::StartsWith(member.child->name, each + ".");
    };
    return std::find_if(first.begin(), first.end(), names) - first.begin();
  };
  std::vector<Scope::Member> members = scope.added;
  std::stable_sort(members.begin(), members.end(),
                   [&](const Scope::Member& a, const Scope::Member& b) { return rank(a) < rank(b); });
  for (const Scope::Member& member : members) {
    if (member.child != nullptr) {
      ListDrawings(*member.child, order);
    } else {
      order.push_back(member.weight);
    }
  }
}

// Sorts the weights into checkpoint order.
void Builder::OrderWeights() {
  std::vector<int> listed;
  ListWeights(root_, listed);
  std::stable_partition(listed.begin(), listed.end(),
                        [&](int weight) { return program_.weights_[static_cast<size_t>(weight)].trained; });
  std::vector<Weight> ordered;
  std::vector<int> place_of(listed.size());
  for (const int weight : listed) {
    place_of[static_cast<size_t>(weight)] = static_cast<int>(ordered.size());
    ordered.push_back(std::move(program_.weights_[static_cast<size_t>(weight)]));
  }
  program_.weights_ = std::move(ordered);
  const auto renamed = [&](int& weight) { weight = place_of[static_cast<size_t>(weight)]; };
  std::for_each(program_.drawing_order_.begin(), program_.drawing_order_.end(), renamed);
  for (Operator& op : program_.operators_) std::for_each(op.weights.begin(), op.weights.end(), renamed);
}

}  // namespace vitrine::program

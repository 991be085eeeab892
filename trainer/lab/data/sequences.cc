// SPDX-License-Identifier: Apache-2.0
#include "trainer/lab/data/sequences.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

constexpr std::array<std::pair<std::string_view, DigitTask>, 5> kTasks{{{"reverse", DigitTask::kReverse},
                                                                        {"sort", DigitTask::kSort},
                                                                        {"swap", DigitTask::kSwap},
                                                                        {"sub", DigitTask::kSub},
                                                                        {"copy", DigitTask::kCopy}}};

}  // namespace

absl::StatusOr<DigitTask> ParseDigitTask(std::string_view name) {
  std::string names;
  for (const auto& [known, task] : kTasks) {
    if (known == name) return task;
    absl::StrAppend(&names, names.empty() ? "" : ", ", std::string(known));
  }
  return absl::NotFoundError(absl::StrCat("no task is named \"", std::string(name), "\"; there are ", names));
}

std::vector<int> TargetOf(DigitTask task, std::span<const int> digits) {
  std::vector<int> target(digits.begin(), digits.end());
  switch (task) {
    case DigitTask::kReverse:
      std::reverse(target.begin(), target.end());
      break;
    case DigitTask::kSort:
      std::sort(target.begin(), target.end());
      break;
    case DigitTask::kSwap:
      std::rotate(target.begin(), target.begin() + static_cast<std::ptrdiff_t>(target.size() / 2), target.end());
      break;
    case DigitTask::kSub:
      for (int& digit : target) digit = 9 - digit;
      break;
    case DigitTask::kCopy:
      break;
  }
  return target;
}

absl::StatusOr<AnomalySets> AnomalySets::Make(std::span<const int> labels, int size, AnomalyPlace place) {
  if (size < 3) {
    return absl::InvalidArgumentError(absl::StrCat("a set of ", size, " images has no odd one out; use at least 3"));
  }
  std::vector<std::vector<int64_t>> members;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0) return absl::InvalidArgumentError(absl::StrCat("image ", i, " has the label ", labels[i]));
    if (members.size() <= static_cast<size_t>(labels[i])) members.resize(labels[i] + 1);
    members[labels[i]].push_back(static_cast<int64_t>(i));
  }
  if (members.size() < 2) return absl::InvalidArgumentError("the images have fewer than two classes");
  for (size_t label = 0; label < members.size(); ++label) {
    if (members[label].size() + 1 >= static_cast<size_t>(size)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("class ", label, " has ", members[label].size(), " images; sets of ", size, " need ", size - 1));
  }
  return AnomalySets({labels.begin(), labels.end()}, std::move(members), size, place);
}

AnomalySet AnomalySets::Draw(int64_t anomaly, const Below& below) const {
  const int own = labels_[anomaly];
  // Draws one of the other classes uniformly: adds a random distance to `own`, modulo the number of classes.
  const int64_t classes = static_cast<int64_t>(members_.size());
  std::vector<int64_t> others = members_[(own + 1 + below(classes - 1)) % classes];
  AnomalySet set;
  for (int i = 0; i + 1 < size_; ++i) {  // a partial Fisher-Yates shuffle
    std::swap(others[i], others[i + below(static_cast<int64_t>(others.size()) - i)]);
    set.images.push_back(others[i]);
  }
  set.anomaly = place_ == AnomalyPlace::kLast ? size_ - 1 : static_cast<int>(below(size_));
  set.images.insert(set.images.begin() + set.anomaly, anomaly);
  return set;
}

}  // namespace vitrine

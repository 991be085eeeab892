// SPDX-License-Identifier: Apache-2.0
#include "trainer/lab/tasks/bleu.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace vitrine {
namespace {

using Grams = std::map<std::vector<std::string>, int64_t>;

Grams CountGrams(std::span<const std::string> words, size_t length) {
  Grams grams;
  for (size_t i = 0; i + length <= words.size(); ++i) {
    ++grams[std::vector<std::string>(words.begin() + i, words.begin() + i + length)];
  }
  return grams;
}

}  // namespace

void BleuCounts::Add(std::span<const std::string> candidate, std::span<const std::string> reference) {
  candidate_words += static_cast<int64_t>(candidate.size());
  reference_words += static_cast<int64_t>(reference.size());
  for (int n = 0; n < kMostWords; ++n) {
    const Grams expected = CountGrams(reference, n + 1);
    for (const auto& [gram, count] : CountGrams(candidate, n + 1)) {
      candidates[n] += count;
      if (const auto found = expected.find(gram); found != expected.end()) {
        matches[n] += std::min(count, found->second);
      }
    }
  }
}

void BleuCounts::Add(const BleuCounts& other) {
  for (int n = 0; n < kMostWords; ++n) {
    matches[n] += other.matches[n];
    candidates[n] += other.candidates[n];
  }
  candidate_words += other.candidate_words;
  reference_words += other.reference_words;
}

double BleuCounts::Bleu() const {
  double log_precision = 0;
  for (int n = 0; n < kMostWords; ++n) {
    if (matches[n] == 0) return 0;
    log_precision += std::log(static_cast<double>(matches[n]) / static_cast<double>(candidates[n])) / kMostWords;
  }
  const double shortness = static_cast<double>(reference_words) / static_cast<double>(candidate_words);
  return std::exp(std::min(0.0, 1 - shortness) + log_precision);
}

}  // namespace vitrine

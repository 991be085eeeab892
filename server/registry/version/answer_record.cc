// SPDX-License-Identifier: Apache-2.0
#include "server/registry/version/answer_record.h"

#include <algorithm>
#include <cmath>

namespace vitrine {
namespace {

// Returns the variance of the mean. Adds 1 / `count` to the sample variance, because a few equal answers have a sample
// variance of zero.
double VarianceOfMean(double mean, double mean_of_squares, double count) {
  return (std::max(mean_of_squares - mean * mean, 0.0) + 1 / count) / count;
}

Estimate ClassDistance(const AnswerTotals& version, const AnswerTotals& other) {
  const auto n = static_cast<double>(version.images), m = static_cast<double>(other.images);
  double distance = 0, noise = 0;
  int seen = 0;
  for (int c = 0; c < AnswerTotals::kClasses; ++c) {
    const double p = static_cast<double>(version.classes[c]) / n, q = static_cast<double>(other.classes[c]) / m;
    if (p + q <= 0) continue;
    ++seen;
    const double by_chance = p * (1 - p) / n + q * (1 - q) / m;
    distance += ((p - q) * (p - q) - by_chance) / (p + q);
    noise = std::max(noise, by_chance / (p + q));
  }
  const double variance = 2 * noise * noise * std::max(seen - 1, 1) + 4 * noise * std::max(distance, 0.0);
  return {distance / 2, std::sqrt(variance) / 2};
}

// Compares the shares of unsure answers. A version without a calibration never marks an answer as unsure, so its share
// has no meaning.
Estimate CompareUnsure(const AnswerTotals& version, const AnswerTotals& other) {
  if (version.judged <= 0 || other.judged <= 0) return {};
  const auto n = static_cast<double>(version.judged), m = static_cast<double>(other.judged);
  const double share = static_cast<double>(version.unsure) / n, other_share = static_cast<double>(other.unsure) / m;
  // All values are 0 or 1, so the mean of the squares equals the mean.
  return {share - other_share,
          std::sqrt(VarianceOfMean(share, share, n) + VarianceOfMean(other_share, other_share, m))};
}

}  // namespace

AnswerTotals operator-(const AnswerTotals& later, const AnswerTotals& earlier) {
  AnswerTotals between;
  between.images = later.images - earlier.images;
  between.confidence = later.confidence - earlier.confidence;
  between.squares = later.squares - earlier.squares;
  between.judged = later.judged - earlier.judged;
  between.unsure = later.unsure - earlier.unsure;
  for (int c = 0; c < AnswerTotals::kClasses; ++c) between.classes[c] = later.classes[c] - earlier.classes[c];
  return between;
}

void AnswerRecord::Add(int64_t top, double confidence, std::optional<bool> unsure) {
  MutexLock lock(mutex_);
  totals_.images += 1;
  totals_.confidence += confidence;
  totals_.squares += confidence * confidence;
  totals_.judged += unsure.has_value();
  totals_.unsure += unsure.value_or(false);
  totals_.classes[static_cast<size_t>(top % AnswerTotals::kClasses)] += 1;
}

AnswerTotals AnswerRecord::Read() const {
  MutexLock lock(mutex_);
  return totals_;
}

AnswerComparison Compare(const AnswerTotals& version, const AnswerTotals& other) {
  AnswerComparison compared;
  compared.images = std::min(version.images, other.images);
  if (compared.images <= 0) return compared;
  const auto n = static_cast<double>(version.images), m = static_cast<double>(other.images);
  const double mean = version.confidence / n, other_mean = other.confidence / m;
  compared.confidence = {mean - other_mean, std::sqrt(VarianceOfMean(mean, version.squares / n, n) +
                                                      VarianceOfMean(other_mean, other.squares / m, m))};
  compared.unsure = CompareUnsure(version, other);
  compared.classes = ClassDistance(version, other);
  return compared;
}

}  // namespace vitrine

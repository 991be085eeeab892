// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_VERSION_ANSWER_RECORD_H_
#define VITRINE_SERVER_REGISTRY_VERSION_ANSWER_RECORD_H_

#include <array>
#include <cstdint>

#include "common/mutex.h"

namespace vitrine {

// Sums over the answers of a version: confidences, unsure answers and classes.
struct AnswerTotals {
  static constexpr int kClasses = 64;

  int64_t images = 0;
  double confidence = 0;  // sum of the probabilities of the first class
  double squares = 0;     // sum of their squares
  int64_t unsure = 0;
  std::array<int64_t, kClasses> classes = {};  // images by index of the first class, modulo kClasses

  friend AnswerTotals operator-(const AnswerTotals& later, const AnswerTotals& earlier);
};

// The answers of a version since it was loaded. Thread-safe.
class AnswerRecord {
 public:
  // Counts an answer: `top` is the index of its first class, `confidence` the probability of that class.
  void Add(int64_t top, double confidence, bool unsure);
  AnswerTotals Read() const;

 private:
  mutable Mutex mutex_;
  AnswerTotals totals_ ABSL_GUARDED_BY(mutex_);
};

// A measured difference and its standard error.
struct Estimate {
  double value = 0;
  double error = 0;
};

// Comparison of the answers of two versions, which were given to different images of the same callers. Zero if one of
// the two gave no answers.
struct AnswerComparison {
  int64_t images = 0;   // number of images of the version with fewer answers
  Estimate confidence;  // mean of this version minus mean of the other; -1 to 1
  Estimate unsure;      // share of this version minus share of the other; -1 to 1
  // Distance of the distributions p and q of first classes, sum of (p - q)^2 / (p + q) over 2: 0 if equal, 1 if they
  // have no class in common. The part expected by chance is subtracted, so the value may be below 0.
  Estimate classes;
};
AnswerComparison Compare(const AnswerTotals& version, const AnswerTotals& other);

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_VERSION_ANSWER_RECORD_H_

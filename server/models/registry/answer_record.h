// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_MODELS_REGISTRY_ANSWER_RECORD_H_
#define VITRINE_SERVER_MODELS_REGISTRY_ANSWER_RECORD_H_

#include <array>
#include <cstdint>

#include "base/mutex.h"

namespace vitrine {

// Sums over the answers of a version: how confident it was, how often unsure, and which classes it found.
struct AnswerTotals {
  static constexpr int kClasses = 64;

  int64_t pictures = 0;
  double confidence = 0;  // sum of the probabilities of the first class
  double squares = 0;     // and of their squares
  int64_t unsure = 0;
  std::array<int64_t, kClasses> classes = {};  // pictures by the index of the first class, modulo kClasses

  friend AnswerTotals operator-(const AnswerTotals& later, const AnswerTotals& earlier);
};

// The answers of a version since it was loaded. Thread-safe.
class AnswerRecord {
 public:
  // `top` is the index of the first class, `confidence` its probability.
  void Add(int64_t top, double confidence, bool unsure);
  AnswerTotals Read() const;

 private:
  mutable Mutex mutex_;
  AnswerTotals totals_ ABSL_GUARDED_BY(mutex_);
};

// A difference as it was measured, and its standard error.
struct Estimate {
  double value = 0;
  double error = 0;
};

// The answers of one version against those of another, which were given to other pictures of the same callers. Zero
// where one of the two gave none.
struct AnswerComparison {
  int64_t pictures = 0;  // of the one that gave fewer answers
  Estimate confidence;   // mean of this version less mean of the other; -1 to 1
  Estimate unsure;       // share of this version less share of the other; -1 to 1
  // Distance of the distributions p and q of first classes, sum of (p - q)^2 / (p + q) over 2: 0 where they are the
  // same, 1 where no class is found by both. Without what chance adds to it, so it may come out below 0.
  Estimate classes;
};
AnswerComparison Compare(const AnswerTotals& version, const AnswerTotals& other);

}  // namespace vitrine

#endif  // VITRINE_SERVER_MODELS_REGISTRY_ANSWER_RECORD_H_

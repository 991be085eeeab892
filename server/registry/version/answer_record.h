// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_VERSION_ANSWER_RECORD_H_
#define VITRINE_SERVER_REGISTRY_VERSION_ANSWER_RECORD_H_

#include <array>
#include <cstdint>
#include <optional>

#include "common/mutex.h"

namespace vitrine {

// Sums over a version's answers: confidences, unsure answers and classes.
struct AnswerTotals {
  static constexpr int kClasses = 64;

  int64_t images = 0;
  double confidence = 0;  // sum of the first classes' probabilities
  double squares = 0;     // sum of the squares of these probabilities
  int64_t judged = 0;     // number of images answered with a calibration; only these answers can be unsure
  int64_t unsure = 0;     // number of judged images with an unsure answer
  std::array<int64_t, kClasses> classes = {};  // number of images by index of the first class, modulo kClasses

  friend AnswerTotals operator-(const AnswerTotals& later, const AnswerTotals& earlier);
};

// The answers of a version since its load. Thread-safe.
class AnswerRecord {
 public:
  // Counts an answer: `top` is the index of its first class, `confidence` is the probability of this class. `unsure`
  // has no value if the version has no calibration.
  void Add(int64_t top, double confidence, std::optional<bool> unsure);
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

// Comparison of two versions' answers; each version answered its own part of the model's requests. All fields are zero
// if one of the versions gave no answers.
struct AnswerComparison {
  int64_t images = 0;   // number of images of the version with fewer answers
  Estimate confidence;  // mean of `version` minus mean of `other`; -1 to 1
  Estimate unsure;      // share of `version` minus share of `other`; -1 to 1; zero if one of them has no calibration
  // Distance between the distributions p and q of first classes: half of the sum of (p - q)^2 / (p + q). The distance
  // is 0 if p and q are equal, and 1 if no class occurs in both. The value expected by chance is subtracted, so the
  // result may be below 0.
  Estimate classes;
};
AnswerComparison Compare(const AnswerTotals& version, const AnswerTotals& other);

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_VERSION_ANSWER_RECORD_H_

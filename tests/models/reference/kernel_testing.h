// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_MODELS_REFERENCE_KERNEL_TESTING_H_
#define VITRINE_TESTS_MODELS_REFERENCE_KERNEL_TESTING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/simd/view.h"

namespace vitrine::cpu {

// Returns element i of a sequence of numbers in [-1, 1) that is the same on every machine.
inline float Noise(uint64_t sequence, uint64_t i) {
  uint64_t z = (sequence + 1) * 0x9E3779B97F4A7C15u + i * 0xD1B54A32D192ED03u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return static_cast<float>(static_cast<double>((z ^ (z >> 31)) >> 40) / (1 << 23) - 1);
}

inline std::vector<float> NoiseVector(uint64_t sequence, int64_t count) {
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = Noise(sequence, i);
  return values;
}

// Initial value of memory where a kernel must not write.
inline constexpr float kUntouched = 77;

// A matrix with a gap of `gap` elements after each row. All elements are `fill` at first. A correct kernel neither
// reads nor changes the gaps.
template <typename T>
class Matrix {
 public:
  Matrix(int64_t rows, int64_t columns, int64_t gap = 0, T fill = {})
      : values_(rows * (columns + gap), fill), view_{values_.data(), rows, columns, columns + gap} {}
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;

  View<T> view() { return view_; }
  View<const T> view() const { return view_; }
  // Fills the rows (not the gaps) with numbers of Noise. An element depends only on `sequence` and its position.
  void FillWithNoise(uint64_t sequence) {
    for (int64_t i = 0; i < view_.rows; ++i) {
      for (int64_t j = 0; j < view_.columns; ++j) view_.Row(i)[j] = Noise(sequence, i * view_.columns + j);
    }
  }

 private:
  std::vector<T> values_;
  const View<T> view_;
};

}  // namespace vitrine::cpu

#endif  // VITRINE_TESTS_MODELS_REFERENCE_KERNEL_TESTING_H_

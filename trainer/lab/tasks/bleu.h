// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_LAB_TASKS_BLEU_H_
#define VITRINE_TRAINER_LAB_TASKS_BLEU_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace vitrine {

// Counts for corpus BLEU (Papineni et al. 2002) with n-grams of 1 to 4 words, summed over sentences.
struct BleuCounts {
  static constexpr int kMostWords = 4;
  // Number of the candidates' n-grams that are in the reference. Each n-gram counts at most as often as the reference
  // has it.
  std::array<int64_t, kMostWords> matches = {};
  std::array<int64_t, kMostWords> candidates = {};  // number of n-grams in the candidates
  int64_t candidate_words = 0;
  int64_t reference_words = 0;

  // Adds one candidate with its reference.
  void Add(std::span<const std::string> candidate, std::span<const std::string> reference);
  void Add(const BleuCounts& other);

  // Returns min(1, exp(1 - r / c)) (p1 p2 p3 p4)^(1/4), 0 to 1, where r and c are the numbers of words in the
  // references and the candidates, and pn is the share of the candidates' n-grams that match. There is no smoothing, so
  // the result is 0 if no n-gram of some length matches.
  double Bleu() const;
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_LAB_TASKS_BLEU_H_

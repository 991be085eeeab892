// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_ENGINE_COMPANY_H_
#define VITRINE_TESTS_ENGINE_COMPANY_H_

#include <string>
#include <vector>

#include "tests/engine/compiled.h"

namespace vitrine::testing {

// What an engine says of pictures in any company, against what it says of each of them alone.
class Company {
 public:
  // Of so many pictures, which take turns in the form's sizes.
  Company(const EngineForm& form, cpu::CpuPath path, size_t pictures, const PrecisionChoice& choice = {});

  struct Trials {
    int batches = 0;
    size_t most_pictures = 0;  // of every eighth batch; of others four
    int team_every = 8;        // a multiple of four: a team waits at every step for a member without a core
  };
  // Expects the same bits in random batches: as they are drawn by one thread, then by two at once, of which one has the
  // pictures of every batch in reverse. Half of the batches are asked for attention too, and half of these for tokens;
  // of the others, one in so many is computed by a team of two to four.
  void ExpectChangesNothing(const Trials& trials) const;

 private:
  struct Answer {
    std::vector<float> logits;
    std::vector<float> attention;  // all matrices of all layers, end to end
    std::vector<float> tokens;     // of all stages, end to end
  };

  // The first difference in words, or nothing. What a thread of its own calls.
  std::string FirstDifference(const Trials& trials, bool reversed) const;
  std::vector<Answer> Answers(const std::vector<size_t>& order, engine::Workspace& workspace, int watched,
                              bool tokens) const;

  Compiled compiled_;
  std::vector<at::Tensor> pictures_;
  std::vector<Answer> alone_;
};

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_ENGINE_COMPANY_H_

// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_MODELS_ENGINE_COMPANY_H_
#define VITRINE_TESTS_MODELS_ENGINE_COMPANY_H_

#include <string>
#include <vector>

#include "tests/models/engine/compiled.h"

namespace vitrine::testing {

// Compares an engine's results for images in random batches with its results for each image alone.
class Company {
 public:
  // Makes `images` images whose sizes cycle through the sizes of `form`.
  Company(const EngineForm& form, cpu::CpuPath path, size_t images, const PrecisionChoice& choice = {});

  struct Trials {
    int batches = 0;
    size_t most_images = 0;  // maximum size of every eighth batch; other batches have at most four images
    int team_every = 8;      // a multiple of four; large, because teams are slow on a machine with few cores
  };
  // Expects the same bits in random batches as for each image alone: first on one thread, then on two threads at once.
  // The second thread reverses each batch. Every second batch requests attention, and every fourth also tokens. Every
  // `team_every`-th batch runs on a team of two to four threads and requests no attention.
  void ExpectChangesNothing(const Trials& trials) const;

 private:
  struct Answer {
    std::vector<float> logits;
    std::vector<float> attention;  // all matrices of all layers, concatenated
    std::vector<float> tokens;     // all stages, concatenated
  };

  // Describes the first difference, or returns "". May run in two threads at once.
  std::string FirstDifference(const Trials& trials, bool reversed) const;
  std::vector<Answer> Answers(const std::vector<size_t>& order, engine::Workspace& workspace, int watched,
                              bool tokens) const;

  Compiled compiled_;
  std::vector<at::Tensor> images_;
  std::vector<Answer> alone_;
};

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_ENGINE_COMPANY_H_

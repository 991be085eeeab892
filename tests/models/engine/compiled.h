// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_MODELS_ENGINE_COMPILED_H_
#define VITRINE_TESTS_MODELS_ENGINE_COMPILED_H_

#include <memory>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "models/engine/cpu/engine.h"
#include "models/engine/weight_source.h"
#include "models/reference/model.h"

namespace vitrine::testing {

// A small model of a family.
struct EngineForm {
  std::string name;
  v1::ModelConfig config;
  std::vector<std::pair<int, int>> sizes;  // height and width; the model's own size is first
  friend void PrintTo(const EngineForm& form, std::ostream* out) { *out << form.name; }
};
std::vector<EngineForm> EngineForms();

// Returns the instruction sets that this CPU supports and that have their own engine kernels, slowest first.
std::vector<cpu::CpuPath> EnginePaths();

// Returns a valid GoogleTest parameter name: "xcit_f_sne_avx512".
std::string NameOf(const EngineForm& form, cpu::CpuPath path);

// Returns the engine's view of an image. The view is valid until the tensor is destroyed.
engine::ImagePlanes View(const at::Tensor& image);

// Returns the logits of the images, row by row.
std::vector<float> Logits(const engine::Engine& engine, const std::vector<at::Tensor>& images,
                          AttentionTap* attention = nullptr, TokenTap* tokens = nullptr);

// Returns the largest difference relative to the largest value of `theirs`; infinite if a value is NaN or infinite.
double Apart(const std::vector<float>& ours, const std::vector<float>& theirs);
// Allowed difference between engine and reference, relative to the largest value.
inline constexpr double kParityTolerance = 1e-5;

// Copies of weights. A copy is overwritten with NaN when it is released, so that a later read changes the results.
class PoisonedWeights : public engine::WeightSource {
 public:
  PoisonedWeights(const program::Program& program, std::span<const float* const> weights);
  const float* Floats(size_t weight) override { return owned_[weight].data(); }
  void LetGo(size_t weight) override;
  const std::set<size_t>& released() const { return released_; }

 private:
  std::vector<std::vector<float>> owned_;
  std::set<size_t> released_;
};

// A model in two forms: as the reference, and compiled for one instruction set.
struct Compiled {
  Compiled(const v1::ModelConfig& config, cpu::CpuPath path, const PrecisionChoice& choice = {});

  std::vector<float> ByEngine(const std::vector<at::Tensor>& images) const { return Logits(*engine, images); }
  // Runs the reference with LibTorch's operators only. The reference's own kernels share common/simd/ with the engine,
  // so a bug in common/simd/ would affect both sides and stay hidden.
  std::vector<float> ByReference(const std::vector<at::Tensor>& images, AttentionTap* attention = nullptr,
                                 TokenTap* tokens = nullptr) const;

  std::unique_ptr<Model> model;
  std::unique_ptr<const program::Program> program;
  std::vector<const float*> weights;        // weights of the model, in program order
  std::unique_ptr<PoisonedWeights> source;  // copies of the weights, which the engine reads
  std::unique_ptr<const engine::Engine> engine;
};

// The attention and the tokens that a run collects.
struct Handed {
  AttentionTap attention;
  TokenTap tokens;
};
// Requests attention of every layer and the tokens of every stage for the image at this index.
Handed RequestEverything(const Compiled& compiled, int image);
// Expects that the values in `ours` and `theirs` agree within kParityTolerance, and that `ours` has no attention of
// image 0.
void ExpectSame(const Compiled& compiled, int image, const Handed& ours, const Handed& theirs);

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_ENGINE_COMPILED_H_

// SPDX-License-Identifier: Apache-2.0
#include "tests/models/engine/compiled.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "models/engine/cpu/kernels/kernels.h"
#include "models/families/family.h"
#include "models/zoo/small_forms.h"
#include "tests/models/reference/images.h"

namespace vitrine::testing {

namespace {

void AddForms(const std::vector<SmallForm>& small, std::vector<EngineForm>& forms) {
  for (const SmallForm& form : small) {
    const int h = form.height, w = form.width;
    const auto& native = form.config.preprocessing().native();
    EngineForm& each = forms.emplace_back(EngineForm{form.name, form.config, {{h, w}}});
    for (const auto& [height, width] : {std::pair(2 * h, w), {h, 2 * w}, {2 * h, 3 * w}, {h, w / 2}}) {
      const int cells = native.cell() == 0 ? 0 : (height / native.cell()) * (width / native.cell());
      if (cells >= native.min_tokens() && cells <= native.max_tokens()) each.sizes.emplace_back(height, width);
    }
  }
}

}  // namespace

std::vector<EngineForm> EngineForms() {
  std::vector<EngineForm> forms;
  AddForms(SmallForms(), forms);
  AddForms(SmallPrefixForms(), forms);
  for (const SmallForm& form : SmallKvForms()) {
    forms.push_back({form.name, form.config, {{form.height, form.width}}});
  }
  return forms;
}

std::vector<cpu::CpuPath> EnginePaths() {
  std::vector<cpu::CpuPath> paths = cpu::SupportedPaths();
  std::erase_if(paths, [](cpu::CpuPath path) { return engine::FindKernels(path)->path != path; });
  return paths;
}

std::string NameOf(const EngineForm& form, cpu::CpuPath path) {
  std::string name = absl::StrCat(form.name, "_", cpu::Name(path));
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

engine::ImagePlanes View(const at::Tensor& image) {
  return {image.const_data_ptr<float>(), static_cast<int>(image.size(0)), static_cast<int>(image.size(1)),
          static_cast<int>(image.size(2))};
}

double Apart(const std::vector<float>& ours, const std::vector<float>& theirs) {
  if (ours.size() != theirs.size()) return INFINITY;
  double largest = 0, difference = 0;
  for (size_t i = 0; i < ours.size(); ++i) {
    largest = std::max(largest, std::abs(double{theirs[i]}));
    const double apart = std::abs(double{ours[i]} - theirs[i]);
    difference = std::isnan(apart) ? INFINITY : std::max(difference, apart);
  }
  return difference == 0 ? 0 : difference / largest;
}

PoisonedWeights::PoisonedWeights(const program::Program& program, std::span<const float* const> weights) {
  for (size_t i = 0; i < weights.size(); ++i) {
    owned_.emplace_back(weights[i], weights[i] + program.weights()[i].elements());
  }
}

void PoisonedWeights::LetGo(size_t weight) {
  EXPECT_TRUE(released_.insert(weight).second) << weight << " is let go twice";
  std::fill(owned_[weight].begin(), owned_[weight].end(), NAN);
}

Compiled::Compiled(const v1::ModelConfig& config, cpu::CpuPath path, const PrecisionChoice& choice)
    : model(MakeHashed(config)), program(std::make_unique<const program::Program>(*ProgramOf(config))) {
  std::map<std::string, at::Tensor> tensors;
  for (const auto& list : {model->Parameters(), model->Buffers()}) {
    for (const NamedTensor& tensor : list) tensors[tensor.name] = tensor.tensor;
  }
  for (const program::Weight& weight : program->weights()) {
    weights.push_back(tensors.at(weight.name).const_data_ptr<float>());
  }
  source = std::make_unique<PoisonedWeights>(*program, weights);
  absl::StatusOr<engine::Engine> made = engine::Engine::Make(*program, *source, path, choice);
  EXPECT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(source->released().empty(), weights.empty());
  engine = std::make_unique<const engine::Engine>(std::move(*made));
}

std::vector<float> Logits(const engine::Engine& engine, const std::vector<at::Tensor>& images, AttentionTap* attention,
                          TokenTap* tokens) {
  std::vector<engine::ImagePlanes> views;
  for (const at::Tensor& image : images) views.push_back(View(image));
  std::vector<float> logits(images.size() * static_cast<size_t>(engine.plan().classes));
  engine::Workspace workspace;
  engine.Run(views, workspace, logits.data(), attention, tokens);
  return logits;
}

std::vector<float> Compiled::ByReference(const std::vector<at::Tensor>& images, AttentionTap* attention,
                                         TokenTap* tokens) const {
  ForwardContext context;
  context.tap = attention;
  context.tokens = tokens;
  context.library_only = true;
  const at::Tensor values = model->Forward(images, context).contiguous();
  return {values.const_data_ptr<float>(), values.const_data_ptr<float>() + values.numel()};
}

Handed RequestEverything(const Compiled& compiled, int image) {
  Handed handed;
  for (const AttentionAbility::Offer& offer : compiled.model->attention().offers) {
    for (int layer = 0; layer < offer.layers; ++layer) handed.attention.Request(image, offer.source, layer);
  }
  const int stages = static_cast<int>(compiled.program->stages().size());
  for (int stage = TokenTap::kProjection; stage < stages; ++stage) handed.tokens.Request(stage);
  return handed;
}

void ExpectSame(const Compiled& compiled, int image, const Handed& ours, const Handed& theirs) {
  const auto expect_equal = [](const FloatArray& a, const FloatArray& b, const std::string& what) {
    EXPECT_EQ(a.shape, b.shape) << what;
    EXPECT_LE(Apart(a.values, b.values), kParityTolerance) << what;
  };
  const int stages = static_cast<int>(compiled.program->stages().size());
  for (int stage = TokenTap::kProjection; stage < stages; ++stage) {
    const TokenTap::Tokens *a = ours.tokens.Find(stage), *b = theirs.tokens.Find(stage);
    ASSERT_EQ(a == nullptr, b == nullptr) << "stage " << stage;
    if (a == nullptr) continue;
    EXPECT_EQ(a->layout->total_tokens(), b->layout->total_tokens());
    expect_equal(a->data, b->data, absl::StrCat("stage ", stage));
  }
  for (const AttentionAbility::Offer& offer : compiled.model->attention().offers) {
    for (int layer = 0; layer < offer.layers; ++layer) {
      const AttentionTap::Matrices* const a = ours.attention.Find(image, offer.source, layer);
      const AttentionTap::Matrices* const b = theirs.attention.Find(image, offer.source, layer);
      ASSERT_TRUE(a != nullptr && b != nullptr) << "layer " << layer;
      EXPECT_EQ(ours.attention.Find(0, offer.source, layer), nullptr);
      expect_equal(a->scores, b->scores, absl::StrCat("scores of layer ", layer));
      expect_equal(a->weights, b->weights, absl::StrCat("weights of layer ", layer));
      expect_equal(a->queries, b->queries, absl::StrCat("queries of layer ", layer));
      expect_equal(a->keys, b->keys, absl::StrCat("keys of layer ", layer));
    }
  }
}

}  // namespace vitrine::testing

// SPDX-License-Identifier: Apache-2.0
// Tests programs that no existing family builds, but that a new family may build. The engine must compute them, or
// reject them with the operator's name.
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/engine/cpu/instructions.h"
#include "models/engine/cpu/matrices/narrow_matrix.h"
#include "models/program/builder.h"
#include "models/reference/interpreter.h"
#include "tests/models/engine/compiled.h"
#include "tests/models/reference/images.h"

namespace vitrine::testing {
namespace {

using program::Builder;
using program::Program;
using program::Value;
using ::testing::HasSubstr;

// A program and its hashed weights, which can be accessed by name.
struct Weighted {
  explicit Weighted(Program made) : program(std::move(made)) {
    for (const program::Weight& weight : program.weights()) {
      tensors.push_back(Hashed(weight.shape, tensors.size() + 1));
      places[weight.name] = tensors.size() - 1;
    }
  }

  at::Tensor& operator[](const std::string& name) { return tensors[places.at(name)]; }
  absl::StatusOr<engine::Engine> Compile(cpu::CpuPath path, const PrecisionChoice& choice = {}) const {
    std::vector<const float*> weights;
    for (const at::Tensor& tensor : tensors) weights.push_back(tensor.const_data_ptr<float>());
    return engine::Engine::Make(program, weights, path, choice);
  }
  std::vector<float> ByReference(const ImageBatch& images) const {
    ForwardContext context;
    context.library_only = true;
    const at::Tensor logits = Interpreter(program).Run(tensors, images, context).contiguous();
    return {logits.const_data_ptr<float>(), logits.const_data_ptr<float>() + logits.numel()};
  }

  Program program;
  std::vector<at::Tensor> tensors;  // in program order
  std::map<std::string, size_t> places;
};

class Programs : public ::testing::TestWithParam<cpu::CpuPath> {};
INSTANTIATE_TEST_SUITE_P(, Programs, ::testing::ValuesIn(EnginePaths()),
                         [](const auto& info) { return std::string(cpu::Name(info.param)); });

// Tests learned positions for two images: the grid of one image equals the grid of the table, and the other grid
// differs.
TEST_P(Programs, LearnedPositionsWithoutAClassTokenAgreeWithTheReference) {
  Builder b(3);
  const Value cells = b.Linear("patches", b.Patchify(2), 4);
  const Value x = b.Relu("relu", b.TablePosition("positions", cells, {2, 3}, {}));
  const Weighted model(b.Take(b.Linear("head", b.MeanTokens(x), 5)));
  const absl::StatusOr<engine::Engine> engine = model.Compile(GetParam());
  ASSERT_TRUE(engine.ok()) << engine.status();
  const ImageBatch images = {RandomImage(3, 4, 6, 1), RandomImage(3, 8, 6, 2)};
  EXPECT_LE(Apart(Logits(*engine, images), model.ByReference(images)), kParityTolerance);
}

// Returns a program with attention. If `apart`, three linear layers compute q, k and v; otherwise one linear layer
// computes all three.
Program Attending(bool class_query, bool apart) {
  Builder b(3);
  const Value x = b.JoinClass("join", b.ClassToken("class_token", 8, {}), b.Linear("patches", b.Patchify(2), 8));
  std::vector<Value> qkv;
  if (apart) {
    for (const char* name : {"q", "k", "v"}) qkv.push_back(b.Linear(name, x, 8));
  } else {
    qkv.push_back(b.Linear("qkv", x, 24));
  }
  const Value mixed = b.Attend("mix", qkv, {.heads = 2, .scale = 0.5, .class_query = class_query});
  return b.Take(b.Linear("head", class_query ? mixed : b.TakeClass(mixed), 5));
}

// Copies the weights of `together` to `apart`, splitting the weights of qkv.
void Split(Weighted& together, Weighted& apart) {
  for (const char* end : {"weight", "bias"}) {
    int64_t first = 0;
    for (const char* name : {"q.", "k.", "v."}) {
      apart[std::string(name) + end].copy_(together[std::string("qkv.") + end].narrow(0, first, 8));
      first += 8;
    }
  }
  for (const char* name : {"class_token", "patches.weight", "patches.bias", "head.weight", "head.bias"}) {
    apart[name].copy_(together[name]);
  }
}

// For the logits, the last block needs only the query of the class token. If callers can request the attention of all
// queries, the last block must still compute it.
TEST_P(Programs, AttentionIsEqualForJoinedAndSeparateQueries) {
  for (const bool class_query : {false, true}) {
    Weighted together(Attending(class_query, /*apart=*/false)), apart(Attending(class_query, /*apart=*/true));
    Split(together, apart);
    const AttentionSource source = class_query ? AttentionSource::kClassQuery : AttentionSource::kTokens;
    for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
      if (!engine::CanCompute(precision, GetParam()).ok()) continue;
      const absl::StatusOr<engine::Engine> one = together.Compile(GetParam(), {.precision = precision, .kept = {}});
      const absl::StatusOr<engine::Engine> three = apart.Compile(GetParam(), {.precision = precision, .kept = {}});
      ASSERT_TRUE(one.ok() && three.ok()) << one.status() << three.status();
      AttentionTap of_one, of_three;
      for (AttentionTap* tap : {&of_one, &of_three}) tap->Request(0, source, 0);
      const std::vector<at::Tensor> images = {RandomImage(3, 4, 6, 1)};
      EXPECT_EQ(Logits(*three, images, &of_three), Logits(*one, images, &of_one));
      const AttentionTap::Matrices *a = of_three.Find(0, source, 0), *b = of_one.Find(0, source, 0);
      ASSERT_TRUE(a != nullptr && b != nullptr);
      const std::vector<int64_t> shape = {2, class_query ? 1 : 7, 7};
      EXPECT_EQ(a->weights.shape, shape);
      EXPECT_EQ(b->weights.shape, shape);
      EXPECT_EQ(a->weights.values, b->weights.values);
      EXPECT_EQ(a->scores.values, b->scores.values);
    }
  }
}

Program OneProduct(int64_t inputs) {
  Builder b(static_cast<int>(inputs));
  return b.Take(b.Linear("head", b.MeanTokens(b.Patchify(1)), 1));
}

// The sums of products of bytes are the largest possible: all products have the same sign.
TEST_P(Programs, ByteSumsFitTheirTypeOrAreRefused) {
  if (!engine::CanCompute(Precision::kInt8, GetParam()).ok()) return;
  const PrecisionChoice int8 = {.precision = Precision::kInt8, .kept = {}};
  constexpr int64_t kMost = kMostByteInputs;
  Weighted widest(OneProduct(kMost));
  widest["head.weight"].fill_(1);
  const absl::StatusOr<engine::Engine> engine = widest.Compile(GetParam(), int8);
  ASSERT_TRUE(engine.ok()) << engine.status();
  at::Tensor image = at::full({kMost, 1, 1}, 1.0F);
  image[0] = 0;
  const float bias = widest["head.bias"].item<float>();
  EXPECT_NEAR(Logits(*engine, {image})[0], static_cast<float>(kMost - 1) + bias, 0.01F * kMost);

  const Weighted wider(OneProduct(kMost + 1));
  const absl::Status status = wider.Compile(GetParam(), int8).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(status.message(), HasSubstr("head: Linear of 66312 inputs is too wide for int8"));
  EXPECT_TRUE(wider.Compile(GetParam(), {.precision = Precision::kInt8, .kept = {"head"}}).ok());
  EXPECT_TRUE(wider.Compile(GetParam()).ok());
}

}  // namespace
}  // namespace vitrine::testing

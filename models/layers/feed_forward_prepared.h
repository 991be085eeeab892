// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_LAYERS_FEED_FORWARD_PREPARED_H_
#define VITRINE_MODELS_LAYERS_FEED_FORWARD_PREPARED_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "models/kernels/cpu/cpu_path.h"
#include "models/kernels/cpu/packed_linear.h"
#include "models/kernels/cpu/view.h"
#include "models/kernels/cpu/workspace.h"

namespace vitrine {

class FeedForward;

// The feed-forward block for inference on a CPU: y = x + fc2(GELU(fc1(LN(x)))), the function of FeedForward outside of
// training.
//
// Differs from it in form alone: LayerNorm's scale and shift are folded into fc1, both weights are packed for the CPU's
// registers, bias and GELU happen where fc1's products are summed, bias and residual where fc2's are. Tokens are taken
// in blocks whose hidden activations stay in the second cache. No tensor library, no allocation and no lock.
//
// A token's result is bit-identical whatever other tokens share the call. Immutable; Run may be called concurrently,
// each thread with its own workspace.
class PreparedFeedForward {
 public:
  // Copies the weights; `layer` need not outlive the call and may live on any device. FAILED_PRECONDITION where this
  // CPU cannot run `path` in `precision`.
  static absl::StatusOr<PreparedFeedForward> Prepare(const FeedForward& layer, cpu::CpuPath path = cpu::BestPath(),
                                                     cpu::Precision precision = cpu::Precision::kFp32);

  // x and y [tokens, width], fp32, any alignment and strides. y may be x; otherwise they do not overlap.
  void Run(cpu::View<const float> x, cpu::View<float> y, cpu::Workspace& workspace) const;

  int64_t width() const { return fc2_.outputs(); }
  int64_t hidden() const { return fc1_.outputs(); }
  // What Run takes of its workspace, for any number of tokens.
  int64_t WorkspaceBytes() const;
  // Memory of the packed weights.
  int64_t WeightBytes() const { return fc1_.bytes() + fc2_.bytes(); }

 private:
  PreparedFeedForward(cpu::PackedLinear fc1, cpu::PackedLinear fc2, float epsilon);
  template <typename Element>
  void RunBlocks(cpu::View<const float> x, cpu::View<float> y, cpu::Workspace& workspace) const;
  template <typename Element>
  int64_t BlockBytes() const;

  cpu::PackedLinear fc1_;
  cpu::PackedLinear fc2_;
  float epsilon_;
  int64_t block_rows_;
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_LAYERS_FEED_FORWARD_PREPARED_H_

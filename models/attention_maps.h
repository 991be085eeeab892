#ifndef VITRINE_MODELS_ATTENTION_MAPS_H_
#define VITRINE_MODELS_ATTENTION_MAPS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "models/attention_tap.h"
#include "models/model.h"
#include "vitrine/v1/attention.pb.h"

namespace vitrine {

// One map, as floats.
struct AttentionMap {
  v1::AttentionKind kind = v1::ATTENTION_KIND_UNSPECIFIED;
  int layer = 0;  // -1 for ROLLOUT
  int head = 0;   // -1 for the mean over heads
  int rows = 0;
  int columns = 0;
  std::vector<float> values;  // row-major
};

// Checks a request against what the model has and makes negative layers positive and defaults explicit.
// INVALID_ARGUMENT names the kind, layer or head at fault and what the model has.
absl::StatusOr<v1::AttentionRequest> ResolveAttention(const v1::AttentionRequest& request,
                                                      const AttentionAbility& ability);

// Number of values of each map that a resolved request yields for this grid, and how many maps.
struct AttentionSize {
  int64_t maps = 0;
  int64_t values_per_map = 0;
};
AttentionSize SizeOf(const v1::AttentionRequest& resolved, Grid grid, int prefix_tokens);

// Tells the tap what a resolved request needs of one image.
void RequestAttention(const v1::AttentionRequest& resolved, const AttentionAbility& ability, int image,
                      AttentionTap& tap);

// The maps of one image, in the order layer, then head. Requires RequestAttention before the forward pass.
std::vector<AttentionMap> CollectAttention(const v1::AttentionRequest& resolved, const AttentionAbility& ability,
                                           const AttentionTap& tap, int image, Grid grid, int prefix_tokens);

}  // namespace vitrine

#endif  // VITRINE_MODELS_ATTENTION_MAPS_H_

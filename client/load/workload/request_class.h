// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LOAD_WORKLOAD_REQUEST_CLASS_H_
#define VITRINE_CLIENT_LOAD_WORKLOAD_REQUEST_CLASS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/commands/image_run.h"
#include "vitrine/v1/attention.pb.h"
#include "vitrine/v1/classifier.pb.h"
#include "vitrine/v1/features.pb.h"

namespace vitrine {

// One kind of request in a load.
struct RequestClass {
  std::string name = {};  // name in reports; empty: a name made from the settings below
  ModelChoice model = {};
  std::optional<v1::ResolutionWish> resolution = {};
  v1::Priority priority = v1::NORMAL;
  // Maximum time from the scheduled start to the answer. Reports count the answers "within their deadline".
  absl::Duration deadline = absl::Seconds(30);
  double weight = 1;                     // relative share of the load; above 0
  std::vector<std::string> images = {};  // files and folders; empty: a generated image
  // Additional contents of the answers. Attention is requested without layers and heads, so the defaults apply:
  // the mean over the heads of the last layer; for a rollout, the whole model; for distances, all layers.
  std::vector<v1::AttentionKind> attention = {};
  std::vector<v1::FeatureKind> features = {};
  std::optional<int> top_k = {};  // number of predictions; unset: the server's default

  // Returns `name`, or the settings as text: "eit-mini-cifar10 32x32 high within 50ms".
  std::string Description() const;
};

// Parses "low", "normal", "high".
absl::StatusOr<v1::Priority> ParsePriority(absl::string_view word);

// Changes one setting: model, resolution, priority, deadline, weight, images (one path), attention and features (kinds
// separated by commas), top_k or name. INVALID_ARGUMENT: unknown setting or invalid value.
absl::Status SetClassField(absl::string_view field, absl::string_view value, RequestClass& request_class);

// Parses the classes of a load: "model=a, resolution=32x32, weight=3; model=b, priority=high, deadline=50ms". Missing
// settings are taken from `defaults`. `images` replaces the default list. A word without "=" belongs to the list
// before it, as in "attention=class,mean". INVALID_ARGUMENT: the text is invalid; the message names class and setting.
absl::StatusOr<std::vector<RequestClass>> ParseMix(absl::string_view text, const RequestClass& defaults);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_WORKLOAD_REQUEST_CLASS_H_

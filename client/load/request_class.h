// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LOAD_REQUEST_CLASS_H_
#define VITRINE_CLIENT_LOAD_REQUEST_CLASS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/picture_run.h"
#include "vitrine/v1/attention.pb.h"
#include "vitrine/v1/classifier.pb.h"
#include "vitrine/v1/features.pb.h"

namespace vitrine {

// Requests of one kind within a load.
struct RequestClass {
  std::string name = {};  // in reports; empty: made of the settings below
  ModelChoice model = {};
  std::optional<v1::ResolutionWish> resolution = {};
  v1::Priority priority = v1::NORMAL;
  // From the scheduled start; also what "within its deadline" means.
  absl::Duration deadline = absl::Seconds(30);
  double weight = 1;                       // share of the load, relative to the other classes; above 0
  std::vector<std::string> pictures = {};  // files and folders; empty: a made picture
  // What its answers carry beside the predictions. Of a kind of attention it is what a request gets that names neither
  // layers nor heads: the last layer's mean over its heads; a rollout of the whole model, distances of all layers.
  std::vector<v1::AttentionKind> attention = {};
  std::vector<v1::FeatureKind> features = {};
  std::optional<int> top_k = {};  // predictions in an answer; unset: the server's default

  // `name`, or the settings in words: "eit-mini-cifar10 32x32 high within 50ms".
  std::string Description() const;
};

// "low", "normal", "high"
absl::StatusOr<v1::Priority> ParsePriority(absl::string_view word);

// Changes one setting: model, resolution, priority, deadline, weight, pictures (one path), attention and features
// (kinds with + between them), top_k or name.
// INVALID_ARGUMENT: no such setting, or a value it cannot have.
absl::Status SetClassField(absl::string_view field, absl::string_view value, RequestClass& request_class);

// Classes of a load: "model=a, resolution=32x32, weight=3; model=b, priority=high, deadline=50ms". Settings that a
// class does not name are those of `defaults`; a class that names pictures has no others. INVALID_ARGUMENT says which
// class and setting is wrong.
absl::StatusOr<std::vector<RequestClass>> ParseMix(absl::string_view text, const RequestClass& defaults);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_REQUEST_CLASS_H_

// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_SCORE_SCORER_H_
#define VITRINE_CLIENT_SCORE_SCORER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"

namespace vitrine {

// Gets the results of images, from servers or from a model in this process, for a RoundsClient
// (client/eval/run/rounds.h). Not thread-safe.
class Scorer {
 public:
  virtual ~Scorer() = default;
  // Sets an image that can be read. If another image is missing later and this image cannot be read either, the whole
  // source counts as missing.
  virtual void KnowReadable(int64_t index) = 0;
  // Passes the result of each image to the RoundsClient. Returns OK if each image has a result, else the reason.
  virtual absl::Status Score(std::vector<int64_t> images) = 0;
  // Ends the run with this error. The RoundsClient calls it during Score.
  virtual void Stop(const absl::Status& why) = 0;
  // Returns the current limit of requests in flight; 0: this Scorer sends no requests.
  virtual int in_flight() const = 0;
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_SCORE_SCORER_H_

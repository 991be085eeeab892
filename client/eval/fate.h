// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_FATE_H_
#define VITRINE_CLIENT_EVAL_FATE_H_

#include "absl/status/status.h"

namespace vitrine {

// Cause of an error that remains after the retries of client/lib/retry.h. It determines whether the image is sent
// again.
enum class Fate {
  kRefused,   // the image itself is rejected; a retry would be rejected again
  kLater,     // the server is overloaded or too slow now
  kDoubtful,  // an internal error, perhaps caused by another image of the batch; a few retries are made
  kAway,      // the server, or its model, is unavailable: no request can be sent
  kHopeless,  // every request of this run will fail
};
Fate FateOf(const absl::Status& status);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_FATE_H_

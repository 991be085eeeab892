// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_FATE_H_
#define VITRINE_CLIENT_EVAL_FATE_H_

#include "absl/status/status.h"

namespace vitrine {

// What an error means for the picture that it answers, once client/retry.h has given up on it for the moment.
enum class Fate {
  kRefused,   // the picture is what is wrong: asked again, it would be refused again
  kLater,     // the server has no time for it now
  kDoubtful,  // a defect somewhere, perhaps because of another picture of its batch: ask a few times
  kAway,      // the server, or the model on it, is gone for now: nothing can be asked
  kHopeless,  // nothing that is asked like this will be answered
};
Fate FateOf(const absl::Status& status);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_FATE_H_

// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_TIMEOUT_H_
#define VITRINE_SERVER_WIRE_HTTP_TIMEOUT_H_

#include "absl/time/time.h"

namespace vitrine {

// Default and maximum timeout of a request over HTTP. The default timeout starts when the last byte of the body has
// arrived, because a slow network may need more than this time for the body alone.
inline constexpr absl::Duration kHttpTimeout = absl::Seconds(60);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_TIMEOUT_H_

// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_SCHEDULING_MESSAGE_BYTES_H_
#define VITRINE_SERVER_SERVE_SCHEDULING_MESSAGE_BYTES_H_

#include <memory>
#include <string>

#include "common/http/byte_budget.h"

namespace vitrine {

// A received body, decompressed, and its share of the budget of received bytes.
struct ReceivedBytes {
  std::string bytes = {};
  BudgetShare share = {};
};

// Received body, shared by the requests whose images are views of it.
using MessageBytes = std::shared_ptr<const ReceivedBytes>;

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_MESSAGE_BYTES_H_

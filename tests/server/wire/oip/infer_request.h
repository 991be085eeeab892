// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_SERVER_WIRE_OIP_INFER_REQUEST_H_
#define VITRINE_TESTS_SERVER_WIRE_OIP_INFER_REQUEST_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "server/wire/oip/infer_plan.h"
#include "tests/server/received_messages.h"

namespace vitrine::testing {

// Returns a request of model m with one input of raw contents.
inline inference::ModelInferRequest Request(const std::string& datatype, const std::vector<int64_t>& shape,
                                            std::string raw) {
  inference::ModelInferRequest request;
  request.set_model_name("m");
  auto& input = *request.add_inputs();
  input.set_name(kInputName);
  input.set_datatype(datatype);
  for (const int64_t side : shape) input.add_shape(side);
  request.add_raw_input_contents(std::move(raw));
  return request;
}

// Returns a BYTES element as raw contents have it.
inline std::string Element(const std::string& bytes) {
  const auto length = static_cast<uint32_t>(bytes.size());
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + bytes;
}

// Adds an output; with a classification other than 0 as the number of classes that it asks for.
inline void SetOutput(inference::ModelInferRequest& request, const std::string& name, int64_t classification) {
  auto& output = *request.add_outputs();
  output.set_name(name);
  if (classification != 0) (*output.mutable_parameters())["classification"].set_int64_param(classification);
}

// Returns the message of the refusal for a model of ten classes.
inline std::string Refusal(const inference::ModelInferRequest& request) {
  const auto plan = PlanInfer(*Received(request), {.classes = 10});
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(plan.status().message());
}

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_SERVER_WIRE_OIP_INFER_REQUEST_H_

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

// Returns a request for model m with one input, given as raw contents.
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

// Returns a BYTES element in the form of raw contents.
inline std::string Element(const std::string& bytes) {
  const auto length = static_cast<uint32_t>(bytes.size());
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + bytes;
}

// Adds an output. If `classification` is not 0, the output requests this number of classes.
inline void SetOutput(inference::ModelInferRequest& request, const std::string& name, int64_t classification) {
  auto& output = *request.add_outputs();
  output.set_name(name);
  if (classification != 0) (*output.mutable_parameters())["classification"].set_int64_param(classification);
}

// Returns the error message for a model of ten classes.
inline std::string Refusal(const inference::ModelInferRequest& request) {
  const auto plan = PlanInfer(*Received(request), {.classes = 10});
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(plan.status().message());
}

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_SERVER_WIRE_OIP_INFER_REQUEST_H_

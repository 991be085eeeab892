// Bodies and messages of the Open Inference Protocol, as hostile clients send them: the first byte chooses the form.
#include <cstdint>
#include <string>
#include <string_view>

#include "server/oip/http_body.h"
#include "server/oip/infer_plan.h"

namespace {

void Plan(const inference::ModelInferRequest& request) {
  (void)vitrine::TimeoutOf(request).ok();
  const auto plan = vitrine::PlanInfer(request, 10);
  if (!plan.ok()) return;
  // What was planned fits what the executors rely on.
  if (plan->parts.empty() || plan->outputs.empty()) __builtin_trap();
  for (const auto& part : plan->parts) {
    if (part.top_k() > 10 || !(part.has_image() || part.has_tensor())) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 3, size - 3);
  if (data[0] % 3 == 0) {
    inference::ModelInferRequest request;
    if (request.ParseFromArray(body.data(), static_cast<int>(body.size()))) Plan(request);
    return 0;
  }
  std::optional<size_t> json_bytes;
  if (data[0] % 3 == 1) json_bytes = data[1] + 256 * data[2];
  const auto read = vitrine::ReadInferBody(body, json_bytes);
  if (read.ok()) Plan(read->message);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Converts a JPEG to a model's input with the server's own code, for comparison with turbojpeg_worker.cc and
// pillow_worker.py.
#include <string_view>
#include <utility>
#include <vector>

#include "bench/input_work.h"
#include "common/imaging/decode_input.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

absl::Status MakeOurInput(std::string_view jpeg, const v1::Preprocessing& preprocessing, std::vector<float>& input) {
  ASSIGN_OR_RETURN(PlannedInput planned, PlanAndDecodeInput(jpeg, preprocessing));
  input = std::move(planned.values);
  return absl::OkStatus();
}

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
  return vitrine::ServeInputs(argc, argv, "bench_decode_worker", "ours", vitrine::MakeOurInput);
}

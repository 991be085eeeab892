// SPDX-License-Identifier: Apache-2.0
#include "server/process/end_process.h"

#include <spdlog/spdlog.h>

#include <cstdlib>
#include <system_error>
#include <thread>

namespace vitrine {

void EndProcess(int code, const std::function<void()>& say) {
  try {
    std::thread([code] {
      std::this_thread::sleep_for(absl::ToChronoNanoseconds(kLastWords));
      std::_Exit(code);
    }).detach();
  } catch (const std::system_error&) {  // the system allows the process no more threads
  }
  say();
  spdlog::default_logger()->flush();
  std::_Exit(code);
}

}  // namespace vitrine

// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_SERVER_LOGGED_H_
#define VITRINE_TESTS_SERVER_LOGGED_H_

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <functional>
#include <memory>
#include <string>

#include "server/observe/log.h"

namespace vitrine {

// Runs `log` with this log level and format. Returns its output on stderr and restores the previous logger.
inline std::string Logged(const std::string& level, const std::string& format, const std::function<void()>& log) {
  const std::shared_ptr<spdlog::logger> before = spdlog::default_logger();
  const spdlog::level::level_enum level_before = spdlog::get_level();
  ::testing::internal::CaptureStderr();
  StartLogging(level, format);
  log();
  std::string text = ::testing::internal::GetCapturedStderr();
  spdlog::set_default_logger(before);
  spdlog::set_level(level_before);
  return text;
}

}  // namespace vitrine

#endif  // VITRINE_TESTS_SERVER_LOGGED_H_

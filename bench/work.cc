// SPDX-License-Identifier: Apache-2.0
#include "bench/work.h"

#include <chrono>
#include <cstdio>
#include <iostream>

namespace vitrine {
namespace {

int Fail(const std::string& program, const absl::Status& status) {
  std::cerr << program << ": " << status.message() << "\n";
  return 1;
}

}  // namespace

int Serve(const std::string& program, const absl::StatusOr<Work>& work) {
  if (!work.ok()) return Fail(program, work.status());
  std::printf("ready %d %s\n", work->images, work->description.c_str());
  std::fflush(stdout);
  std::string command;
  while (std::cin >> command) {
    if (command == "run") {
      int repetitions = 0;
      std::cin >> repetitions;
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < repetitions; ++i) {
        if (const absl::Status done = work->repeat(); !done.ok()) return Fail(program, done);
      }
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      std::printf("%.9f\n", spent.count());
    } else if (command == "results" && work->results) {
      for (const std::string& line : work->results()) std::puts(line.c_str());
      std::puts("");
    } else {
      return Fail(program, absl::InvalidArgumentError("no such command: " + command));
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace vitrine

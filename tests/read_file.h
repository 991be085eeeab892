// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_READ_FILE_H_
#define VITRINE_TESTS_READ_FILE_H_

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace vitrine {

// Returns the bytes of a file; "" if it cannot be read.
inline std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace vitrine

#endif  // VITRINE_TESTS_READ_FILE_H_

// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_SCRATCH_FOLDER_H_
#define VITRINE_TESTS_SCRATCH_FOLDER_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/read_file.h"

namespace vitrine {

// An empty folder for one test. The destructor removes it with its content.
class ScratchFolder {
 public:
  explicit ScratchFolder(const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    std::string name = (parent / "vitrine-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }
  std::string Path(const std::string& name) const { return (path_ / name).string(); }

  std::filesystem::path Write(const std::string& name, const std::string& bytes) const {
    std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << bytes;
    return file;
  }
  std::string Read(const std::string& name) const { return ReadFile(path_ / name); }

 private:
  std::filesystem::path path_;
};

}  // namespace vitrine

#endif  // VITRINE_TESTS_SCRATCH_FOLDER_H_

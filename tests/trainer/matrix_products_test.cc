// SPDX-License-Identifier: Apache-2.0
// Tests which library a program uses if several of its libraries export BLAS.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/paths.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;

// Debian's libblas exports the same symbols as LibTorch, and the first library in the link order is used. The
// reference BLAS is twenty times slower. This program is linked with LibTorch in the same way as the trainer.
TEST(MatrixProducts, ComeFromLibTorch) {
  void* const sgemm = dlsym(RTLD_DEFAULT, "sgemm_");
  ASSERT_NE(sgemm, nullptr);
  Dl_info info;
  ASSERT_NE(dladdr(sgemm, &info), 0);
  EXPECT_THAT(info.dli_fname, HasSubstr("libtorch_cpu"));
}

// libvitrine_torch.so must not use a BLAS that the program has already loaded.
TEST(MatrixProducts, ComeFromLibTorchEvenIfItIsLoadedLater) {
  const ScratchFolder folder;
  const std::string path = folder.path().string();
  ASSERT_EQ(std::system(absl::StrCat("LD_DEBUG=bindings LD_DEBUG_OUTPUT=", path,
                                     "/bindings exec " VITRINE_BIN "/vitrine-repo create ", path,
                                     "/models null --variant null > ", path, "/output")
                            .c_str()),
            0);
  int bound = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    if (!entry.path().filename().string().starts_with("bindings.")) continue;
    std::ifstream log(entry.path());
    for (std::string line; std::getline(log, line);) {
      const size_t to = line.find(" to ");
      if (line.find("symbol `sgemm_'") == std::string::npos || line.find("libtorch_cpu") > to) continue;
      ++bound;
      EXPECT_THAT(line.substr(to), HasSubstr("libtorch_cpu")) << line;
    }
  }
  EXPECT_GT(bound, 0) << "LibTorch does not bind sgemm_";
}

}  // namespace
}  // namespace vitrine

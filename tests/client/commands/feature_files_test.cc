// SPDX-License-Identifier: Apache-2.0
#include "client/commands/output/feature_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "common/file/write.h"
#include "tests/client/lib/every_kind.h"
#include "tests/file_size_limit.h"
#include "tests/scratch_folder.h"
#include "tests/test_environment.h"

namespace vitrine {
namespace {

using testing::HasSubstr;

std::string HeaderWith(const std::string& shape) {
  std::string header = std::string("\x93NUMPY\x01\x00\xb6\x00", 10) +
                       "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize(191, ' ');
  return header + "\n";
}

TEST(NpyBytes, HaveTheDocumentedFormat) {
  const std::vector<float> values = {1, -2.5f, 0, 1e-20f, 7, 8};
  EXPECT_EQ(NpyBytes({6}, values), HeaderWith("(6,)") + FloatBytes(values));
  EXPECT_EQ(NpyBytes({2, 3}, values), HeaderWith("(2, 3)") + FloatBytes(values));
  EXPECT_EQ(NpyBytes({1, 2, 3}, values), HeaderWith("(1, 2, 3)") + FloatBytes(values));
  EXPECT_EQ(HeaderWith("(6,)").size() % 64, 0u) << "the data must be aligned";
}

TEST(NpyFile, GrowsRowByRowAndReplacesTheOldFileAtTheEnd) {
  const ScratchFolder folder;
  folder.Write("a.npy", "before");
  const auto file = NpyFile::Create(folder.Path("a.npy"), {2, 2});
  ASSERT_TRUE(file.ok()) << file.status();
  for (const float first : {0.0f, 4.0f, 8.0f}) {
    const std::vector<float> row = {first, first + 1, first + 2, first + 3};
    ASSERT_TRUE((*file)->Append(row).ok());
  }
  EXPECT_EQ(folder.Read("a.npy"), "before") << "the old file must stay until the new file is complete";
  ASSERT_TRUE((*file)->Finish().ok());
  EXPECT_EQ(folder.Read("a.npy"), HeaderWith("(3, 2, 2)") + FloatBytes({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_FALSE(std::filesystem::exists(folder.Path("a.npy.new")));
}

TEST(NpyFile, LeavesNoUnfinishedFile) {
  const ScratchFolder folder;
  { ASSERT_TRUE(NpyFile::Create(folder.Path("a.npy"), {2}).ok()); }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_THAT(NpyFile::Create("/nowhere/a.npy", {2}).status().ToString(),
              HasSubstr("cannot write /nowhere/a.npy.new: No such file"));
}

TEST(NpyFile, ReportsTheFirstErrorOfAFullDisk) {
  const ScratchFolder folder;
  const FileSizeLimit limit(4096);
  const auto file = NpyFile::Create(folder.Path("a.npy"), {1024});
  ASSERT_TRUE(file.ok()) << file.status();
  const std::vector<float> row(1024);
  absl::Status first;
  for (int i = 0; i < 8 && first.ok(); ++i) first = (*file)->Append(row);
  EXPECT_EQ(first.code(), absl::StatusCode::kResourceExhausted) << first;
  EXPECT_THAT(first.ToString(), HasSubstr("cannot write " + folder.Path("a.npy.new") + ": File too large"));
  errno = ETIMEDOUT;
  EXPECT_EQ((*file)->Append(row), first);
  EXPECT_EQ((*file)->Finish(), first);
}

TEST(WriteFile, LeavesNoFileOnAFullDisk) {
  const ScratchFolder folder;
  const FileSizeLimit limit(4096);
  const absl::Status full = WriteFile(folder.Path("a.svg"), std::string(20000, 'x'));
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted) << full;
  EXPECT_THAT(full.ToString(), HasSubstr("cannot write " + folder.Path("a.svg") + ": File too large"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_THAT(WriteFile("/dev/full", "x").ToString(), HasSubstr("No space left on device"));
  EXPECT_TRUE(std::filesystem::exists("/dev/full"));
}

TEST(WriteFile, KeepsAFileThatItCannotOpen) {
  const ScratchFolder folder;
  folder.Write("a.svg", "kept");
  rlimit limits = {};
  getrlimit(RLIMIT_NOFILE, &limits);
  const rlimit none = {0, limits.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  const absl::Status refused = WriteFile(folder.Path("a.svg"), "new");
  setrlimit(RLIMIT_NOFILE, &limits);
  EXPECT_EQ(refused, absl::ResourceExhaustedError("cannot write " + folder.Path("a.svg") + ": Too many open files"));
  EXPECT_EQ(folder.Read("a.svg"), "kept");
}

TEST(NpyFile, NumpyCanReadTheFile) {
  const std::string environment = TestEnvironment();
  if (environment.empty()) GTEST_SKIP() << "there is no numpy: pip reaches no package index";
  const ScratchFolder folder;
  std::vector<float> values(24);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.5f * static_cast<float>(i) - 3;
  folder.Write("a.npy", NpyBytes({2, 3, 4}, values));
  folder.Write("check.py",
               "import numpy, sys\n"
               "a = numpy.load(sys.argv[1], allow_pickle=False)\n"
               "want = (0.5 * numpy.arange(24, dtype='f4') - 3).reshape(2, 3, 4)\n"
               "sys.exit(0 if a.dtype == want.dtype and a.shape == want.shape and (a == want).all() else 1)\n");
  const std::string python = environment + "/bin/python ";
  EXPECT_EQ(std::system((python + folder.Path("check.py") + " " + folder.Path("a.npy")).c_str()), 0);
}

}  // namespace
}  // namespace vitrine

// SPDX-License-Identifier: Apache-2.0
#include "common/data/formats/tar_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "tests/common/data/made_tar.h"
#include "tests/read_file.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

absl::StatusOr<std::vector<TarMember>> Index(const std::filesystem::path& path) {
  const auto file = ReadOnlyFile::Open(path);
  if (!file.ok()) return file.status();
  return IndexTar(*file);
}

// Returns the members as lines "name <tab> offset <tab> bytes".
std::string Listed(const std::vector<TarMember>& members) {
  std::string lines;
  for (const TarMember& member : members) {
    absl::StrAppend(&lines, member.name, "\t", member.offset, "\t", member.bytes, "\n");
  }
  return lines;
}

int Shell(const std::string& command) {
  return WEXITSTATUS(std::system(command.c_str()));
}

std::string Content(const std::filesystem::path& path, const TarMember& member) {
  return *ReadOnlyFile::Open(path)->ReadAt(member.offset, member.bytes);
}

class ByGnuTar : public ::testing::TestWithParam<std::string> {};

TEST_P(ByGnuTar, ContentEqualsThePackedFiles) {
  if (Shell("tar --version >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "tar, which makes the files of this test, is not installed";
  ScratchFolder folder;
  const std::string deep = absl::StrCat(std::string(60, 'd'), "/", std::string(70, 'n'), ".jpg");
  folder.Write("in/" + (GetParam() == "v7" ? "short.jpg" : deep), "deep content");
  folder.Write("in/a.cls", "12");
  folder.Write("in/b.png", std::string(70'000, 'y'));
  folder.Write("in/größe/猫.jpg", "unicode");
  const std::string tar = (folder.path() / "x.tar").string();
  ASSERT_EQ(Shell(absl::StrCat("tar --format=", GetParam(), " --sort=name -C ", (folder.path() / "in").string(),
                               " -cf ", tar, " .")),
            0);
  const auto members = Index(tar);
  ASSERT_TRUE(members.ok()) << members.status();
  ASSERT_THAT(*members, SizeIs(4));
  for (const TarMember& member : *members) {
    EXPECT_EQ(Content(tar, member), ReadFile(folder.path() / "in" / member.name)) << member.name;
  }
  EXPECT_EQ((*members)[0].name, "a.cls") << "the prefix ./ must be removed";
}

INSTANTIATE_TEST_SUITE_P(Formats, ByGnuTar, ::testing::Values("v7", "oldgnu", "gnu", "ustar", "pax"),
                         [](const auto& info) { return info.param; });

class TarFault : public ::testing::Test {
 protected:
  std::string Fault(const std::string& bytes) {
    const auto members = Index(folder_.Write("x.tar", bytes));
    if (members.ok()) return "no fault";
    EXPECT_EQ(members.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(members.status().message()), HasSubstr("x.tar"));
    return std::string(members.status().message());
  }
  ScratchFolder folder_;
  const std::string one_ = TarMemberBytes("a.jpg", "picture");
  const std::string two_ = TarMemberBytes("b.jpg", std::string(700, 'z'));
};

TEST_F(TarFault, ReadsHandwrittenMembers) {
  const auto members = Index(folder_.Write("x.tar", one_ + two_ + TarEnd() + std::string(9000, '\0')));
  ASSERT_TRUE(members.ok()) << members.status();
  EXPECT_EQ(Listed(*members), "a.jpg\t512\t7\nb.jpg\t1536\t700\n");
  EXPECT_EQ(Fault(TarEnd()), "no fault") << "an empty archive is valid";
}

TEST_F(TarFault, IgnoresMembersThatAreNotRegularFiles) {
  // The members are a volume label, a global pax header, a folder, a hard link, and a folder as an old tar wrote it.
  // The first folder and the link state a size but have no content.
  const std::string others = TarMemberBytes("label", "", 'V') + TarMemberBytes("g", "11 k=value\n", 'g') +
                             TarMemberBytes("d", "", '5', "00000007777") + TarMemberBytes("l", "", '1', "00000007777") +
                             TarMemberBytes("old/", "", '\0');
  const auto members = Index(folder_.Write("x.tar", others + one_ + TarMemberBytes("v7.jpg", "x", '\0') + TarEnd()));
  ASSERT_TRUE(members.ok()) << members.status();
  ASSERT_THAT(*members, SizeIs(2));
  EXPECT_EQ((*members)[0].name, "a.jpg");
  EXPECT_EQ((*members)[1].name, "v7.jpg");
  EXPECT_EQ(Fault(one_), "no fault") << "a missing end mark is no fault";
  EXPECT_THAT(Fault(one_ + TarMemberBytes("pax", "14 path=b.jpg\n", 'x')), HasSubstr("a header is cut off"));
}

TEST_F(TarFault, RefusesOtherFiles) {
  EXPECT_THAT(Fault(""), HasSubstr("not an uncompressed tar file"));
  EXPECT_THAT(Fault("not a tar file"), HasSubstr("not an uncompressed tar file"));
  EXPECT_THAT(Fault(std::string("\x1f\x8b\x08\0", 4) + std::string(5000, 'x')),
              HasSubstr("not an uncompressed tar file"))
      << "a gzip file must be refused";
}

TEST_F(TarFault, ATruncatedFileIsRefusedOrHasCompleteMembers) {
  const std::string whole = one_ + two_ + TarEnd();
  for (size_t length = 1; length < whole.size(); length += 37) {
    const auto members = Index(folder_.Write("x.tar", whole.substr(0, length)));
    if (!members.ok()) continue;
    for (const TarMember& member : *members) {
      EXPECT_LE(member.offset + member.bytes, static_cast<int64_t>(length)) << "truncated to " << length;
    }
    EXPECT_GE(length, 1024u);
  }
  EXPECT_THAT(Fault((one_ + two_).substr(0, 1536 + 300)), HasSubstr("b.jpg declares 700 bytes from byte 1536"));
  EXPECT_THAT(Fault((one_ + two_).substr(0, 1024 + 100)), HasSubstr("x.tar"));
}

TEST_F(TarFault, ADamagedHeaderIsRefused) {
  std::string damaged = one_ + two_ + TarEnd();
  damaged[1024 + 3] ^= 1;
  EXPECT_THAT(Fault(damaged), HasSubstr("damaged before byte"));
}

TEST_F(TarFault, AbsurdSizesAreRefused) {
  EXPECT_THAT(Fault(TarMemberBytes("a.jpg", "x", '0', "77777777777") + TarEnd()), HasSubstr("a.jpg declares"));
  // Sizes in base 256: the largest number, the next larger number, and a negative number.
  const std::string largest = "\x80" + std::string(3, '\0') + "\x7f" + std::string(7, '\xff');
  const std::string above = "\x80" + std::string(3, '\0') + std::string(8, '\xff');
  const std::string negative(12, '\xff');
  for (const std::string& size : {largest, above, negative}) {
    EXPECT_NE(Fault(TarMemberBytes("a.jpg", "x", '0', size) + two_ + TarEnd()), "no fault");
  }
  const std::string pax = "28 size=9223372036854775807\n";
  EXPECT_NE(Fault(TarMemberBytes("pax", pax, 'x') + one_ + TarEnd()), "no fault");
  EXPECT_NE(Fault(TarMemberBytes("pax", "x", 'x', "77777777777") + one_ + TarEnd()), "no fault");
  EXPECT_NE(Fault(TarMemberBytes("long", "x", 'L', "77777777777") + one_ + TarEnd()), "no fault");
}

TEST_F(TarFault, UnprintableNamesAreRefused) {
  EXPECT_THAT(Fault(TarMemberBytes("a\nb.jpg", "x") + TarEnd()), HasSubstr("control characters; pack"));
  EXPECT_NE(Fault(TarMemberBytes("", "x") + TarEnd()), "no fault");
  EXPECT_NE(Fault(TarMemberBytes("./", "x") + TarEnd()), "no fault");
  const std::string record = "99 path=b.jpg\n";
  EXPECT_NE(Fault(TarMemberBytes("pax", record, 'x') + one_ + TarEnd()), "no fault")
      << "the length of the pax record is wrong";
}

TEST_F(TarFault, ConcatenatedArchivesAreRefused) {
  EXPECT_THAT(Fault(one_ + TarEnd() + two_ + TarEnd()), HasSubstr("continues after the end mark"));
  EXPECT_THAT(Fault(one_ + TarEnd() + std::string(2 << 20, '\0')), HasSubstr("continues after the end mark"));
}

TEST_F(TarFault, SparseFilesAreRefused) {
  if (Shell("tar --version >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "tar, which makes the files of this test, is not installed";
  const std::filesystem::path holes = folder_.Write("holes.jpg", "begin");
  std::filesystem::resize_file(holes, 1 << 20);
  for (const std::string format : {"gnu", "pax"}) {
    const std::string tar = (folder_.path() / (format + ".tar")).string();
    ASSERT_EQ(
        Shell(absl::StrCat("tar --format=", format, " -S -C ", folder_.path().string(), " -cf ", tar, " holes.jpg")),
        0);
    EXPECT_THAT(std::string(Index(tar).status().message()), HasSubstr("sparse")) << format;
  }
}

}  // namespace
}  // namespace vitrine

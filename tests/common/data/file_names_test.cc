// SPDX-License-Identifier: Apache-2.0
#include "common/data/file_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

TEST(FileNames, EscapedNamesAreUniqueAndReversible) {
  EXPECT_EQ(EscapedBytes("caf\xE9.jpg"), "caf\\xe9.jpg");
  EXPECT_EQ(EscapedBytes("caf\\xe9.jpg"), "caf\\x5cxe9.jpg") << "the name of another file must differ";
  EXPECT_EQ(EscapedBytes("caf\xC3\xA9 \xF0\x9F\x90\xB1"), "caf\xC3\xA9 \xF0\x9F\x90\xB1");
  EXPECT_EQ(EscapedBytes("two\nlines\x7F"), "two\\x0alines\\x7f");
  EXPECT_EQ(EscapedBytes("\xED\xA0\x80\xC0\x80\xF0\x9F"), "\\xed\\xa0\\x80\\xc0\\x80\\xf0\\x9f");
  for (const std::string name : {"a", "", "\\", "\\x", "\\x4", "caf\xE9", "a\\x41", "\n\\\xFF\xC3", "\xC3\xA9"}) {
    EXPECT_EQ(UnescapedBytes(EscapedBytes(name)), name);
  }
  EXPECT_EQ(UnescapedBytes("\\xzz\\x4"), "\\xzz\\x4");
}

TEST(FileNames, AListedNameIsMappedToAnExistingFile) {
  const ScratchFolder folder;
  for (const char* name : {"sub/a.png", "caf\xE9.png", "b.png", "c\\d.png", "e.png "}) folder.Write(name, "x");
  EXPECT_EQ(ListedFile(folder.path(), "sub\\a.png"), "sub/a.png");
  EXPECT_EQ(ListedFile(folder.path(), "caf\\xe9.png"), "caf\xE9.png");
  EXPECT_EQ(ListedFile(folder.path(), "b.png \t"), "b.png");
  EXPECT_EQ(ListedFile(folder.path(), "c\\d.png"), "c\\d.png") << "a file with exactly this name has priority";
  EXPECT_EQ(ListedFile(folder.path(), "e.png "), "e.png ");
  EXPECT_EQ(ListedFile(folder.path(), "none\\f.png"), "none/f.png");
  EXPECT_EQ(ListedFile("", folder.Path("caf\\xe9.png")), folder.Path("caf\xE9.png"));
}

TEST(FileNames, AListMayHaveNamesInTheOtherUnicodeForm) {
  const ScratchFolder folder;
  folder.Write("caf\xC3\xA9.png", "x");
  folder.Write("sub/u\xCC\x88.png", "x");
  EXPECT_EQ(ListedFile(folder.path(), "cafe\xCC\x81.png"), "caf\xC3\xA9.png");
  EXPECT_EQ(ListedFile(folder.path(), "sub\\\xC3\xBC.png"), "sub/u\xCC\x88.png");
  EXPECT_EQ(ListedFile(folder.path(), "caf\xC3\xA9.png\xC2\xA0"), "caf\xC3\xA9.png")
      << "a no-break space at the end must be ignored";
}

}  // namespace
}  // namespace vitrine

// SPDX-License-Identifier: Apache-2.0
#include "client/commands/images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/time/clock.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(FindImages, FindsTheImagesOfAFolderInSortedOrder) {
  const ScratchFolder folder;
  for (const char* name : {"b.png", "a.JPEG", "c.jpg", "e.WebP", "notes.txt", "d.gif"}) folder.Write(name, "x");
  std::filesystem::create_directory(folder.Path("z.png"));  // a folder, despite its name
  EXPECT_THAT(FindImages({"nowhere.jpg", folder.path(), "last.png"})->paths,
              ElementsAre("nowhere.jpg", folder.Path("a.JPEG"), folder.Path("b.png"), folder.Path("c.jpg"),
                          folder.Path("e.WebP"), "last.png"));
}

TEST(FindImages, SearchesSubfoldersOnlyIfRecursive) {
  const ScratchFolder folder;
  for (const char* name : {"b.png", "y/a.png", "y/deep/a.png", "x/b.jpg", "empty/notes.txt"}) folder.Write(name, "x");
  std::filesystem::create_directory_symlink(folder.path(), folder.Path("y/up"));
  EXPECT_THAT(FindImages({folder.path()})->paths, ElementsAre(folder.Path("b.png")));
  const FoundImages deep = *FindImages({folder.path()}, {.recursive = true});
  EXPECT_THAT(deep.paths, ElementsAre(folder.Path("b.png"), folder.Path("x/b.jpg"), folder.Path("y/a.png"),
                                      folder.Path("y/deep/a.png")))
      << "a circular link must not be followed";
  EXPECT_EQ(deep.passed_over, "1 .txt; 1 link to a folder, not followed");
}

TEST(FindImages, SkipsHiddenFilesAndReportsOtherSkippedFiles) {
  const ScratchFolder folder;
  for (const char* name : {"a.png", "._a.png", ".b.png", ".c/d.png", "__MACOSX/._a.png", "Thumbs.db", "e.jfif",
                           "f/g.jpe", "f/h.gif", "i.BMP"}) {
    folder.Write(name, "x");
  }
  std::filesystem::create_symlink("/nowhere/z.jpg", folder.Path("z.jpg"));
  const FoundImages flat = *FindImages({folder.path()});
  EXPECT_THAT(flat.paths, ElementsAre(folder.Path("a.png"), folder.Path("e.jfif"), folder.Path("z.jpg")))
      << "a broken link must be found, so that reading it reports the error";
  EXPECT_EQ(flat.passed_over, "1 .bmp; 1 folder (--recursive includes their images)");
  const FoundImages deep = *FindImages({folder.path()}, {.recursive = true});
  EXPECT_THAT(deep.paths,
              ElementsAre(folder.Path("a.png"), folder.Path("e.jfif"), folder.Path("z.jpg"), folder.Path("f/g.jpe")));
  EXPECT_EQ(deep.passed_over, "1 .bmp, 1 .gif");
  EXPECT_THAT(FindImages({folder.Path(".b.png")})->paths, ElementsAre(folder.Path(".b.png")))
      << "a hidden file that is given by name must be found";
}

TEST(FindImages, ExpandsPatternsUnlessAFileHasThatName) {
  const ScratchFolder folder;
  for (const char* name : {"b1.png", "a1.png", "a2.jpg", "a[1].png", "f1/x.png", "f1/notes.txt"})
    folder.Write(name, "x");
  EXPECT_THAT(FindImages({folder.Path("a?.*")})->paths, ElementsAre(folder.Path("a1.png"), folder.Path("a2.jpg")));
  EXPECT_THAT(FindImages({folder.Path("a[1].png")})->paths, ElementsAre(folder.Path("a[1].png")))
      << "a file with exactly this name has priority";
  EXPECT_THAT(FindImages({folder.Path("f*")})->paths, ElementsAre(folder.Path("f1/x.png")))
      << "the images of a matching folder must be found";
  EXPECT_THAT(FindImages({folder.Path("z*.png")})->paths, ElementsAre(folder.Path("z*.png")));
  EXPECT_EQ(ReadImage(folder.Path("z*.png"), 1 << 20).status().message(), "no file matches this pattern");
}

TEST(FindImages, ReadsListsOfPaths) {
  const ScratchFolder folder;
  folder.Write("in/a.png", "x");
  folder.Write("lines", folder.Path("in") + "\n\nno*pattern.png\nwith space.png");
  folder.Write("zeros", std::string("two\nlines.png\0b.png\0", 20));
  EXPECT_THAT(FindImages({"first.png"}, {.files_from = folder.Path("lines")})->paths,
              ElementsAre("first.png", folder.Path("in/a.png"), "no*pattern.png", "with space.png"));
  EXPECT_THAT(FindImages({}, {.files_from = folder.Path("zeros"), .null_separated = true})->paths,
              ElementsAre("two\nlines.png", "b.png"));
  folder.Write("empty", "\n\n");
  EXPECT_EQ(FindImages({}, {.files_from = folder.Path("empty")}).status().message(),
            "the list " + folder.Path("empty") + " names no image");
  EXPECT_EQ(FindImages({}, {.files_from = folder.Path("none")}).status().message(),
            "the list " + folder.Path("none") + ": no such file or directory");
  EXPECT_THAT(FindImages({}, {.files_from = folder.path()}).status().ToString(), HasSubstr("cannot be read"));
  EXPECT_EQ(FindImages({}).status().message(), "no image was given");
}

TEST(FindImages, AListMayHaveCarriageReturnsAndADash) {
  const ScratchFolder folder;
  const std::string list = folder.Write("list", "a.png\r\n\r\n-\r\nb.png");
  EXPECT_THAT(FindImages({"-"}, {.files_from = list})->paths, ElementsAre("-", "a.png", "./-", "b.png"));
  folder.Write("list", std::string("a\r\0-\0", 5));
  EXPECT_THAT(FindImages({}, {.files_from = list, .null_separated = true})->paths, ElementsAre("a\r", "./-"));
}

TEST(FindImages, AcceptsListsFromOtherOperatingSystems) {
  const ScratchFolder folder;
  folder.Write("sub/a.png", "x");
  folder.Write("caf\xE9.png", "x");
  const std::string in = folder.path().string();
  const std::string list =
      folder.Write("list", "\xEF\xBB\xBF" + in + "/sub\\a.png\r" + in + "/sub/a.png \r" + in + "/caf\\xe9.png\r");
  EXPECT_THAT(FindImages({}, {.files_from = list})->paths,
              ElementsAre(in + "/sub/a.png", in + "/sub/a.png", in + "/caf\xE9.png"));
  folder.Write("list", std::string("\xFF\xFE"
                                   "a\0",
                                   4));
  EXPECT_THAT(FindImages({}, {.files_from = list}).status().ToString(), HasSubstr("UTF-16"));
}

TEST(FindImages, TheStandardInputCanBeUsedOnce) {
  EXPECT_THAT(FindImages({"-", "a.png"})->paths, ElementsAre("-", "a.png"));
  EXPECT_THAT(FindImages({"-", "-"}).status().ToString(), HasSubstr("give - once"));
  EXPECT_THAT(FindImages({"-"}, {.files_from = "-"}).status().ToString(), HasSubstr("give - once"));
}

TEST(FindImages, AFolderWithoutImagesIsKeptSoThatReadingItReportsAnError) {
  const ScratchFolder folder;
  EXPECT_THAT(FindImages({folder.path(), "a.png"})->paths, ElementsAre(folder.path(), "a.png"));
  EXPECT_THAT(FindImages({folder.path()}, {.recursive = true})->paths, ElementsAre(folder.path()));
  EXPECT_EQ(ReadImage(folder.path(), 1 << 20).status().message(),
            "no image (.jpg, .jpeg, .jpe, .jfif, .png or .webp) in this folder");
}

TEST(DistinctStems, AreUnique) {
  EXPECT_THAT(DistinctStems({"a/cat.jpg", "dog.png"}), ElementsAre("cat", "dog"));
  EXPECT_THAT(DistinctStems({"a/cat.jpg", "b/cat.jpg", "cat.png"}), ElementsAre("cat", "cat-2", "cat-3"));
  EXPECT_THAT(DistinctStems({"cat.jpg", "b/cat.jpg", "cat-2.jpg"}), ElementsAre("cat", "cat-3", "cat-2"));
  EXPECT_THAT(DistinctStems({"x.jpg", "x.jpg"}), ElementsAre("x", "x-2"));
  EXPECT_THAT(DistinctStems({"-"}), ElementsAre("stdin"));
}

TEST(DistinctStems, AreComputedQuicklyForManyEqualNames) {
  constexpr size_t kMany = 40000;  // a search that starts at suffix -2 for each name would take half an hour
  const absl::Time start = absl::Now();
  const std::vector<std::string> stems = DistinctStems(std::vector<std::string>(kMany, "frame.png"));
  EXPECT_LT(absl::Now() - start, absl::Seconds(10));
  EXPECT_EQ(stems[1], "frame-2");
  EXPECT_EQ(stems.back(), "frame-40000");
}

TEST(ReadImage, DescribesTheFault) {
  const ScratchFolder folder;
  folder.Write("empty.png", "");
  folder.Write("large.png", std::string(3 << 20, 'x'));
  folder.Write("fine.png", "bytes");
  EXPECT_EQ(*ReadImage(folder.Path("fine.png"), 1 << 20), "bytes");
  EXPECT_EQ(ReadImage(folder.Path("missing.png"), 1 << 20).status().message(), "no such file or directory");
  EXPECT_EQ(ReadImage(folder.Path("empty.png"), 1 << 20).status().message(), "the file is empty");
  EXPECT_EQ(ReadImage(folder.Path("large.png"), 2 << 20).status().message(), "the file is larger than 2 MiB");
  EXPECT_EQ(ReadImage(folder.Path("large.png"), 3 << 20)->size(), 3u << 20)
      << "a file of the maximum size must be read";
  EXPECT_FALSE(ReadImage(folder.Path("large.png"), (3 << 20) - 1).ok());
}

}  // namespace
}  // namespace vitrine

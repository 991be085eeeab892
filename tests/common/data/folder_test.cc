// SPDX-License-Identifier: Apache-2.0
#include "common/data/folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/scratch_folder.h"
#include "tests/without_rights.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(Folder, IgnoresFilesOfOperatingSystems) {
  const ScratchFolder folder;
  for (const char* name : {"._cat.jpg", ".hidden.png", ".hidden/a.png", "__MACOSX/._cat.jpg", "Thumbs.db", "cat.jpg",
                           ".ipynb_checkpoints/a.png", "@eaDir/cat.jpg", "desktop.ini", ".DS_Store"}) {
    folder.Write(name, "x");
  }
  const auto content = ReadFolder(folder.path());
  ASSERT_TRUE(content.ok()) << content.status();
  EXPECT_THAT(content->images, ElementsAre("cat.jpg"));
  EXPECT_TRUE(content->folders.empty() && content->others.empty() && content->broken_links.empty());
}

TEST(Folder, KnowsImagesByTheirEndings) {
  const ScratchFolder folder;
  for (const char* name :
       {"a.JPG", "b.jpeg", "c.jpe", "d.JFIF", "e.png", "f.WebP", "g.gif", "h.GIF", "i", "j.txt", "folder.png/k.jpg"}) {
    folder.Write(name, "x");
  }
  ASSERT_EQ(mkfifo(folder.Path("pipe.png").c_str(), 0600), 0);
  const auto content = ReadFolder(folder.path());
  ASSERT_TRUE(content.ok()) << content.status();
  EXPECT_THAT(content->images, ElementsAre("a.JPG", "b.jpeg", "c.jpe", "d.JFIF", "e.png", "f.WebP"));
  EXPECT_THAT(content->folders, ElementsAre("folder.png"));
  EXPECT_THAT(content->others, ElementsAre(Pair("", 1), Pair(".gif", 2), Pair(".txt", 1)));
}

TEST(Folder, BrokenLinksAreReported) {
  const ScratchFolder folder;
  folder.Write("real/a.png", "x");
  fs::create_symlink("/nowhere/b.jpg", folder.Path("b.jpg"));
  fs::create_symlink("c.png", folder.Path("c.png"));  // a circular link
  fs::create_symlink("/nowhere/dogs", folder.Path("dogs"));
  fs::create_symlink("real/a.png", folder.Path("a.png"));
  fs::create_directory_symlink("real", folder.Path("link"));
  const auto content = ReadFolder(folder.path());
  ASSERT_TRUE(content.ok()) << content.status();
  EXPECT_THAT(content->images, ElementsAre("a.png", "b.jpg", "c.png"));
  EXPECT_THAT(content->folders, ElementsAre("link", "real"));
  EXPECT_THAT(content->broken_links, ElementsAre("dogs"));
}

TEST(Folder, FoldersThatCannotBeReadAreNamed) {
  const ScratchFolder folder;
  fs::create_directory(folder.Path("closed"));
  fs::permissions(folder.Path("closed"), fs::perms::none);
  EXPECT_EQ(ReadFolder(folder.Path("none")).status().code(), absl::StatusCode::kNotFound);
  const WithoutRights nobody;
  const auto closed = ReadFolder(folder.Path("closed"));
  EXPECT_EQ(closed.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(closed.status().message(), folder.Path("closed") + " cannot be read: permission denied");
}

TEST(Folder, ImagesInSubfoldersAreCountedWithoutCircularLinks) {
  const ScratchFolder folder;
  for (const char* name : {"a.png", "x/b.png", "x/y/c.png", "x/notes.txt", ".z/d.png"}) folder.Write(name, "x");
  fs::create_directory_symlink(folder.path(), folder.Path("x/up"));
  EXPECT_EQ(CountImagesBelow(folder.path()), 2);
}

TEST(PassedOver, IsReportedInOneLine) {
  PassedOver nothing;
  nothing.AddDeeper("cat", 0);
  EXPECT_EQ(nothing.InWords(), "");
  PassedOver all;
  all.AddOthers({.broken_links = {"x"}, .others = {{".bmp", 1}, {".gif", 2}, {"", 1}}});
  all.AddDeeper("cat", 1);
  all.AddDeeper("dog", 2);
  all.AddBeside(1);
  all.AddEmptyFolder("bird");
  all.AddFolderLink();
  EXPECT_EQ(
      all.InWords(),
      "1 file without an ending, 1 .bmp, 2 .gif; 3 images in folders of cat/, dog/; 1 image outside the class "
      "folders; 1 link to a folder, not followed; 1 link that is broken; 1 folder without images, not classes: bird");
  PassedOver many;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) many.AddEmptyFolder(name);
  EXPECT_THAT(many.InWords(), HasSubstr("6 folders without images, not classes: a, b, c, d, e, ..."));
}

}  // namespace
}  // namespace vitrine

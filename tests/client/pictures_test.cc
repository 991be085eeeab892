#include "client/pictures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/client/temporary_folder.h"

namespace vitrine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ExpandPaths, TakesTheSortedPicturesOfAFolder) {
  const TemporaryFolder folder;
  for (const char* name : {"b.png", "a.JPEG", "c.jpg", "notes.txt", "d.gif"}) folder.Write(name, "x");
  std::filesystem::create_directory(folder.Path("z.png"));  // a folder, whatever its name
  const auto paths = ExpandPaths({"nowhere.jpg", folder.path(), "last.png"});
  ASSERT_TRUE(paths.ok()) << paths.status();
  EXPECT_THAT(*paths, ElementsAre("nowhere.jpg", folder.Path("a.JPEG"), folder.Path("b.png"), folder.Path("c.jpg"),
                                  "last.png"));
}

TEST(ExpandPaths, AFolderWithoutPicturesIsAMistake) {
  const TemporaryFolder folder;
  EXPECT_THAT(ExpandPaths({folder.path()}).status().ToString(), HasSubstr(folder.path() + ": no picture"));
}

TEST(DistinctStems, NeverNameTwoPicturesAlike) {
  EXPECT_THAT(DistinctStems({"a/cat.jpg", "dog.png"}), ElementsAre("cat", "dog"));
  EXPECT_THAT(DistinctStems({"a/cat.jpg", "b/cat.jpg", "cat.png"}), ElementsAre("cat", "cat-2", "cat-3"));
  EXPECT_THAT(DistinctStems({"cat.jpg", "b/cat.jpg", "cat-2.jpg"}), ElementsAre("cat", "cat-3", "cat-2"));
  EXPECT_THAT(DistinctStems({"x.jpg", "x.jpg"}), ElementsAre("x", "x-2"));
}

TEST(ReadPicture, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  folder.Write("empty.png", "");
  folder.Write("large.png", std::string(3 << 20, 'x'));
  folder.Write("fine.png", "bytes");
  EXPECT_EQ(*ReadPicture(folder.Path("fine.png"), 1 << 20), "bytes");
  EXPECT_EQ(ReadPicture(folder.Path("missing.png"), 1 << 20).status().message(), "no such file or directory");
  EXPECT_EQ(ReadPicture(folder.Path("empty.png"), 1 << 20).status().message(), "the file is empty");
  EXPECT_EQ(ReadPicture(folder.Path("large.png"), 2 << 20).status().message(), "the file is larger than 2 MiB");
  EXPECT_EQ(ReadPicture(folder.path(), 1 << 20).status().message(), "is a folder");
}

}  // namespace
}  // namespace vitrine

// SPDX-License-Identifier: Apache-2.0
#include "common/data/formats/tar_shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ExpandBraces, ListsAndRanges) {
  EXPECT_THAT(*ExpandBraces("x.tar"), ElementsAre("x.tar"));
  EXPECT_THAT(*ExpandBraces("x-{000..002}.tar"), ElementsAre("x-000.tar", "x-001.tar", "x-002.tar"));
  EXPECT_THAT(*ExpandBraces("{9..11}"), ElementsAre("9", "10", "11"));
  EXPECT_THAT(*ExpandBraces("{09..11}"), ElementsAre("09", "10", "11"));
  EXPECT_THAT(*ExpandBraces("{train,val}-{0..1}.tar"),
              ElementsAre("train-0.tar", "train-1.tar", "val-0.tar", "val-1.tar"));
  EXPECT_THAT(*ExpandBraces("{train-{0..1},val}.tar"), ElementsAre("train-0.tar", "train-1.tar", "val.tar"));
  EXPECT_THAT(*ExpandBraces("{a,}b"), ElementsAre("ab", "b"));
}

TEST(ExpandBraces, OtherBracesStay) {
  for (const std::string text : {"{a}", "{}", "{1..}", "{2..1}", "{a", "a}", "{a}{b}", "{-1..2}", "}{"}) {
    EXPECT_THAT(*ExpandBraces(text), ElementsAre(text));
  }
  EXPECT_THAT(*ExpandBraces("{a}{1..2}"), ElementsAre("{a}1", "{a}2"));
}

TEST(ExpandBraces, IsBounded) {
  EXPECT_FALSE(ExpandBraces("{0..999}{0..999}").ok());
  EXPECT_THAT(*ExpandBraces("{0..99999999999}"), ElementsAre("{0..99999999999}"));
  EXPECT_TRUE(ExpandBraces(std::string(50'000, '{')).ok());
}

class Shards : public ::testing::Test {
 protected:
  void Make(std::initializer_list<const char*> names) {
    for (const char* name : names) folder_.Write(name, "");
  }
  absl::StatusOr<TarShards> Find(const std::string& below) { return FindTarShards(folder_.path().string() + below); }
  std::vector<std::string> Below(const std::vector<std::filesystem::path>& shards) {
    std::vector<std::string> names;
    for (const auto& shard : shards) names.push_back(shard.lexically_relative(folder_.path()).string());
    return names;
  }
  ScratchFolder folder_;
};

TEST_F(Shards, NamesSetTheSplit) {
  Make({"imagenet1k-train-0001.tar", "imagenet1k-train-0000.tar", "imagenet1k-validation-00.tar", "README.md"});
  for (const std::string where : {"", "/", "/*.tar", "/imagenet1k-{train-{0000..0001},validation-00}.tar"}) {
    const auto found = Find(where);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_THAT(Below(found->train), ElementsAre("imagenet1k-train-0000.tar", "imagenet1k-train-0001.tar")) << where;
    EXPECT_THAT(Below(found->test), ElementsAre("imagenet1k-validation-00.tar")) << where;
    EXPECT_EQ(found->folder, folder_.path()) << where;
    EXPECT_FALSE(found->undivided);
  }
}

TEST_F(Shards, FoldersMaySetTheSplit) {
  Make({"train/0.tar", "train/1.tar", "test/0.tar", "val/0.tar"});
  const auto found = Find("");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(Below(found->train), ElementsAre("train/0.tar", "train/1.tar"));
  EXPECT_THAT(Below(found->test), ElementsAre("test/0.tar")) << "val must not be used if there is a test split";
  EXPECT_THAT(Below(Find("/{train,val}/?.tar")->test), ElementsAre("val/0.tar"));
}

TEST_F(Shards, ADevelopmentSplitIsATestSplit) {
  Make({"train-0.tar", "dev-0.tar"});
  EXPECT_THAT(Below(Find("")->test), ElementsAre("dev-0.tar"));
}

TEST_F(Shards, WithoutSplitNamesBothSplitsAreTheSame) {
  Make({"a-0.tar", "a-1.tar"});
  const auto found = Find("/a-{0..1}.tar");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(found->undivided);
  EXPECT_THAT(Below(found->train), ElementsAre("a-0.tar", "a-1.tar"));
  EXPECT_EQ(found->train, found->test);
  EXPECT_TRUE(Find("/a-1.tar")->undivided);
}

TEST_F(Shards, ASingleSplitLeavesTheOtherEmpty) {
  Make({"train-0.tar"});
  EXPECT_THAT(Find("")->test, IsEmpty());
}

TEST_F(Shards, AnErrorNamesTheMissingShard) {
  Make({"train-0.tar", "train-2.tar"});
  const auto gap = Find("/train-{0..2}.tar");
  EXPECT_EQ(gap.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(gap.status().message()), HasSubstr("train-1.tar"));
  EXPECT_THAT(std::string(Find("/test-*.tar").status().message()), HasSubstr("no file matches"));
  EXPECT_THAT(std::string(FindTarShards("/nowhere").status().message()), HasSubstr("/nowhere"));
  ScratchFolder empty;
  EXPECT_EQ(FindTarShards(empty.path().string()).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(Shards, AmbiguousNamesAreRefused) {
  Make({"train-0.tar", "extra.tar"});
  EXPECT_THAT(std::string(Find("").status().message()), HasSubstr("extra.tar names no split"));
  Make({"x/train-val-0.tar"});
  EXPECT_THAT(std::string(Find("/x").status().message()), HasSubstr("names two splits"));
  EXPECT_THAT(std::string(Find("/{train-0,train-0}.tar").status().message()), HasSubstr("is listed twice"));
}

}  // namespace
}  // namespace vitrine

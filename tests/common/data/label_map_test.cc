// SPDX-License-Identifier: Apache-2.0
#include "common/data/label_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/data/formats/imagenet.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Labels = std::vector<std::string>;

TEST(LabelMap, NamesMatchAndCaseIsIgnoredIfUnambiguous) {
  const auto match = MatchLabels({"dog", "Cat", "emu", "OWL"}, {"cat", "dog", "Owl", "owl"});
  ASSERT_TRUE(match.ok()) << match.status();
  EXPECT_THAT(match->classes, ElementsAre(1, 0, -1, -1)) << "\"OWL\" is ambiguous";
  EXPECT_THAT(match->unknown, ElementsAre("emu", "OWL"));
  EXPECT_FALSE(match->by_number);
}

TEST(LabelMap, NumbersAreClassNumbersOnlyIfNoNameMatches) {
  const auto numbers = MatchLabels({"0", "2", "7"}, {"cat", "dog", "owl"});
  ASSERT_TRUE(numbers.ok()) << numbers.status();
  EXPECT_THAT(numbers->classes, ElementsAre(0, 2, -1));
  EXPECT_TRUE(numbers->by_number);
  const auto names = MatchLabels({"1", "0"}, {"0", "1"});
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_THAT(names->classes, ElementsAre(1, 0));
  EXPECT_FALSE(names->by_number);
  EXPECT_FALSE(MatchLabels({"0", "one"}, {"cat", "dog"}).ok());
  EXPECT_FALSE(MatchLabels({"0", "-0"}, {"cat", "dog"}).ok()) << "only digits are a number";
  EXPECT_THAT(MatchLabels({"2", "3"}, {"cat", "dog", "owl"})->classes, ElementsAre(2, -1))
      << "class numbers must start at 0";
}

TEST(LabelMap, NumbersAreComparedByValue) {
  EXPECT_THAT(MatchLabels({"01", "9", "00", "10"}, {"0", "1", "09"})->classes, ElementsAre(1, 2, 0, -1));
  EXPECT_FALSE(MatchLabels({"01"}, {"0", "1"})->by_number);
  EXPECT_THAT(MatchLabels({"1", "01"}, {"x", "01", "1"})->classes, ElementsAre(2, 1)) << "equal names have priority";
  EXPECT_THAT(MatchLabels({"001", "x"}, {"x", "01", "1"})->classes, ElementsAre(-1, 0)) << "\"001\" is ambiguous";
}

TEST(LabelMap, ADataSetWithoutLabel0GivesAHint) {
  const ScratchFolder folder;
  const auto words = [&](const std::string& list, const Labels& model) {
    const auto data = OpenDataset("csv:" + folder.Write("list.csv", list).string(), Split::kTest);
    return MatchInWords(*MatchLabels((*data)->labels(), model), **data);
  };
  const Labels names = {"cat", "dog", "owl"};
  EXPECT_THAT(words("a.png,1\nb.png,2\n", names),
              ElementsAre(HasSubstr("used as class numbers"), HasSubstr("is the set counted from 1?")));
  EXPECT_THAT(words("a.png,0\nb.png,2\n", names), ElementsAre(HasSubstr("used as class numbers")));
  EXPECT_THAT(words("a.png,1\nb.png,3\n", {"0", "1", "2"}), ElementsAre(HasSubstr("is the set counted from 1?")))
      << "label 3 has no class, so the labels may start at 1";
  EXPECT_THAT(words("a.png,1\nb.png,2\n", {"0", "1", "2"}), IsEmpty());
  EXPECT_THAT(words("a.png,cat\n", names), IsEmpty());
}

TEST(LabelMap, UnicodeFormsOfANameAreEqual) {
  const Labels composed = {"caf\xC3\xA9", "\xED\x95\x9C", "\xC3\x85"};
  const Labels decomposed = {"cafe\xCC\x81", "\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB", "A\xCC\x8A"};
  EXPECT_THAT(MatchLabels(decomposed, composed)->classes, ElementsAre(0, 1, 2));
  EXPECT_THAT(MatchLabels(composed, decomposed)->classes, ElementsAre(0, 1, 2));
  EXPECT_THAT(MatchLabels({"dog"}, {"cat", "dog"}, *ParseLabelMap("dog,cat\n", "map.csv"))->classes, ElementsAre(0));
  EXPECT_THAT(MatchLabels({"cafe\xCC\x81"}, {"caf\xC3\xA9", "tea"}, *ParseLabelMap("caf\xC3\xA9,tea\n", "m"))->classes,
              ElementsAre(1))
      << "a row must match the label in either Unicode form";
}

TEST(LabelMap, WordNetIdsMatchClassesOfImageNet) {
  // A WordNet id matches a label that has one of the id's names ("Tench", as in timm) or all of them ("goldfish,
  // Carassius auratus", as in transformers). The ids may be labels of the data set or classes of the model.
  const auto match = MatchLabels({"n01440764", "n01443537", "n00000001"}, {"goldfish, Carassius auratus", "Tench"});
  ASSERT_TRUE(match.ok()) << match.status();
  EXPECT_THAT(match->classes, ElementsAre(1, 0, -1));
  EXPECT_TRUE(match->by_wnid);
  EXPECT_THAT(MatchLabels({"goldfish"}, {"n01440764", "n01443537"})->classes, ElementsAre(1));
  // If the model has all classes of ImageNet, an id matches the class with the id's index, so the model's names may
  // differ or be repeated.
  Labels model = ImageNetNames();
  for (int i = 200; i < 300; ++i) model[static_cast<size_t>(i)] = "same";
  const int place = *ImageNetClass("n02123045");
  EXPECT_GE(place, 200);
  EXPECT_THAT(MatchLabels({"n01443537", "n02123045"}, model)->classes, ElementsAre(1, place));
  EXPECT_FALSE(MatchLabels({"n01440764"}, {"n01440764"})->by_wnid) << "equal names must match as names";
}

TEST(LabelMap, WordNetIdsMayBeFollowedByNames) {
  EXPECT_THAT(MatchLabels({"n02085620-Chihuahua", "n01440764_tench"}, {"tench", "Chihuahua"})->classes,
              ElementsAre(1, 0));
  const Labels synsets = {"n01443537 goldfish, Carassius auratus", "n01440764 tench, Tinca tinca"};
  EXPECT_THAT(MatchLabels({"n01440764", "n01443537"}, synsets)->classes, ElementsAre(1, 0));
  EXPECT_THAT(MatchLabels({"tench", "goldfish"}, synsets)->classes, ElementsAre(1, 0));
  EXPECT_THAT(MatchLabels(synsets, {"n01440764", "n01443537"})->classes, ElementsAre(1, 0));
  EXPECT_FALSE(MatchLabels({"n014407640", "n01440764th"}, {"tench"}).ok()) << "these are not WordNet ids";
  // The names "Cardigan" (a dog) and "cardigan" (a garment) differ only in case, but must not match.
  EXPECT_FALSE(MatchLabels({"n02113186"}, {"n02963159 cardigan"}).ok());
}

TEST(LabelMap, ImageNetNamesMayDifferOnlyInCaseOrAfterTheComma) {
  const Labels wnids = {"n02012849", "n03126707", "n02113186", "n02963159", "n03710637", "n03710721"};
  const Labels names = {"crane, bird", "crane, machine", "Cardigan", "cardigan", "maillot", "maillot, tank suit"};
  for (const auto& [data, model] : {std::pair(wnids, names), std::pair(names, wnids)}) {
    const auto match = MatchLabels(data, model);
    ASSERT_TRUE(match.ok()) << match.status();
    EXPECT_THAT(match->classes, ElementsAre(0, 1, 2, 3, 4, 5));
  }
  const Labels synonyms = {"Cardigan, Cardigan Welsh corgi", "cardigan"};
  EXPECT_THAT(MatchLabels({"n02963159", "n02113186"}, synonyms)->classes, ElementsAre(1, 0));
}

TEST(LabelMap, WithoutAMatchTheErrorListsBothSides) {
  const auto match = MatchLabels({"n00000764", "n00000537"}, {"tench", "goldfish"});
  EXPECT_EQ(match.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(match.status().message()),
              AllOf(HasSubstr("\"n00000764\""), HasSubstr("\"tench\""), HasSubstr("--label-map")));
  EXPECT_EQ(
      MatchLabels({"a", "b", "c", "d", "e", "f"}, {"v", "w", "x", "y", "z"}).status(),
      absl::NotFoundError(
          "no label of the data set is a class of the model: the data set has \"a\", \"b\", \"c\", \"d\", \"e\", "
          "..., the model \"v\", \"w\", \"x\", \"y\", \"z\"; give a file of lines \"data label<TAB>model label\" with "
          "--label-map"))
      << "the error must list five names of each side, and whether there are more";
}

TEST(LabelMap, RowsHavePriorityOverNames) {
  const auto rows = ParseLabelMap("# pets\ndog\towl\r\nn1,cat\n\nn2\t1\nunseen,cat\n", "map.tsv");
  ASSERT_TRUE(rows.ok()) << rows.status();
  const auto match = MatchLabels({"dog", "n1", "n2", "cat", "emu"}, {"cat", "dog", "owl"}, *rows);
  ASSERT_TRUE(match.ok()) << match.status();
  EXPECT_THAT(match->classes, ElementsAre(2, 0, 1, 0, -1));
}

TEST(LabelMap, TheRowWithTheExactLabelHasPriority) {
  for (const char* text : {"cat,cat\nCAT,dog\n", "CAT,dog\ncat,cat\n"}) {
    const auto match = MatchLabels({"cat", "dog"}, {"cat", "dog"}, *ParseLabelMap(text, "map.csv"));
    ASSERT_TRUE(match.ok()) << match.status();
    EXPECT_THAT(match->classes, ElementsAre(0, 1)) << text;
  }
  const auto other = MatchLabels({"cat"}, {"cat", "dog"}, *ParseLabelMap("CAT,dog\n", "map.csv"));
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_THAT(other->classes, ElementsAre(1));
  const auto both = MatchLabels({"cat"}, {"cat", "dog"}, *ParseLabelMap("Cat,cat\n\nCAT,dog\n", "map.csv"));
  EXPECT_EQ(both.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(both.status().message()), HasSubstr("lines 1 and 3"));
}

TEST(LabelMap, AnAmbiguousNameIsAnError) {
  const Labels model = {"heron", "crane", "lift", "crane"};
  const auto match = MatchLabels({"crane", "heron"}, model);
  EXPECT_EQ(match.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(match.status().message()),
              AllOf(HasSubstr("\"crane\""), HasSubstr("1 and 3"), HasSubstr("--label-map")));
  const auto named = MatchLabels({"crane", "heron"}, model, *ParseLabelMap("crane,crane\n", "map.csv"));
  EXPECT_THAT(std::string(named.status().message()), AllOf(HasSubstr("line 1"), HasSubstr("1 and 3")));
  const auto numbered = MatchLabels({"crane", "heron"}, model, *ParseLabelMap("crane,3\n", "map.csv"));
  ASSERT_TRUE(numbered.ok()) << numbered.status();
  EXPECT_THAT(numbered->classes, ElementsAre(3, 0));
  EXPECT_TRUE(MatchLabels({"lift"}, model).ok()) << "an ambiguous class that is not used is no error";
}

TEST(LabelMap, AnUnknownClassIsAnErrorWithItsLine) {
  const auto rows = ParseLabelMap("a,cat\nb,cow\n", "map.csv");
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_THAT(std::string(MatchLabels({"a", "b"}, {"cat"}, *rows).status().message()),
              AllOf(HasSubstr("line 2"), HasSubstr("\"cow\"")));
  EXPECT_THAT(MatchLabels({"a"}, {"cat", "dog"}, *ParseLabelMap("a,1", "map.csv"))->classes, ElementsAre(1));
  EXPECT_EQ(
      MatchLabels({"a"}, {"cat", "dog"}, *ParseLabelMap("a,2", "map.csv")).status(),
      absl::InvalidArgumentError("line 1 of the label map: the model has no class \"2\"; it has \"cat\", \"dog\""));
  EXPECT_THAT(std::string(MatchLabels({"\xE9"}, {"cat"}, *ParseLabelMap("\xE9,b\xE9", "map.csv")).status().message()),
              HasSubstr("no class \"b\\xe9\""));
  EXPECT_THAT(std::string(MatchLabels({"\xE9", "\\xe8"}, {"cat"}).status().message()),
              HasSubstr("has \"\\xe9\", \"\\xe8\""))
      << "a terminal must not receive bytes that are not UTF-8";
}

TEST(LabelMap, AnErrorNamesTheLine) {
  for (const auto& [text, says] :
       std::vector<std::pair<std::string, std::string>>{{"a,b\na\n", "map.csv line 2: expected two columns"},
                                                        {"a,b,c\n", "line 1: expected two columns"},
                                                        {"a\tb\tc\n", "line 1"},
                                                        {"a,b\na,c\n", "line 2: label \"a\" has a class in line 1"},
                                                        {"\xC3\xA5,b\na\xCC\x8A,c\n", "has a class in line 1"},
                                                        {"\"a,b\n", "line 1"}}) {
    const auto rows = ParseLabelMap(text, "map.csv");
    EXPECT_EQ(rows.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(rows.status().message()), HasSubstr(says)) << text;
  }
  EXPECT_EQ(ReadLabelMap("/no/such/map.tsv").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace vitrine

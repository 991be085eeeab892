// SPDX-License-Identifier: Apache-2.0
#include "common/data/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/data/dataset.h"
#include "common/data/digest.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Csv, ParsesCellsAndRowsWithTheirLines) {
  const auto rows = ParseCsv(
      "\xEF\xBB\xBF"
      "a,b\r\n\n\"x, \"\"y\"\"\nz\",\r\n,\"\"\nlast");
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 4u);
  EXPECT_THAT((*rows)[0].cells, ElementsAre("a", "b"));
  EXPECT_THAT((*rows)[1].cells, ElementsAre("x, \"y\"\nz", ""));
  EXPECT_EQ((*rows)[1].line, 3);
  EXPECT_THAT((*rows)[2].cells, ElementsAre("", ""));
  EXPECT_EQ((*rows)[2].line, 5);
  EXPECT_THAT((*rows)[3].cells, ElementsAre("last"));
  EXPECT_TRUE(ParseCsv("")->empty());
  EXPECT_THAT(ParseCsv("a\tb,c\n", '\t')->front().cells, ElementsAre("a", "b,c"));
}

TEST(Csv, BrokenQuotesNameTheLine) {
  EXPECT_THAT(std::string(ParseCsv("a\n\"b\nc").status().message()), HasSubstr("line 2: the quote is not closed"));
  EXPECT_THAT(std::string(ParseCsv("a\n\"b\"c\n").status().message()), HasSubstr("line 2: text after a closing quote"));
}

class CsvList : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<Dataset>> Open(const std::string& text, Split split = Split::kTest) {
    return OpenDataset("csv:" + folder_.Write("list.csv", text).string(), split);
  }
  std::string Refusal(const std::string& text) {
    const auto opened = Open(text);
    EXPECT_EQ(opened.status().code(), absl::StatusCode::kInvalidArgument) << text;
    return std::string(opened.status().message());
  }
  const ScratchFolder folder_;
};

TEST_F(CsvList, PathsAreRelativeToTheFile) {
  folder_.Write("images/1.png", "one");
  const auto data = Open("images/1.png,dog\nimages/2.png, cat \n");
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->size(), 2);
  EXPECT_THAT((*data)->labels(), ElementsAre("cat", "dog"));
  EXPECT_EQ((*data)->label(0), 1);
  EXPECT_EQ((*data)->name(0), "images/1.png");
  EXPECT_EQ(*(*data)->encoded(0), "one");
  EXPECT_EQ((*data)->encoded(1).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(CsvList, AHeaderMaySetTheOrderOfColumns) {
  const auto data = Open("id,Label,notes,Path\n7,10,x,a.png\n8,9,y,b.png\n");
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->size(), 2);
  EXPECT_EQ((*data)->name(0), "a.png");
  EXPECT_THAT((*data)->labels(), ElementsAre("9", "10")) << "numbers must be sorted by value";
}

TEST_F(CsvList, HeadersOfPandasFastaiAndHuggingFaceAreKnown) {
  for (const char* text : {
           "filepath,label\na.png,cat\nb.png,dog\n",
           "filepaths,labels\na.png,cat\nb.png,dog\n",
           "file_name,label\na.png,cat\nb.png,dog\n",
           "image_path;class\na.png;cat\nb.png;dog\n",
           "image\tcategory\na.png\tcat\nb.png\tdog\n",
           "name,label\na.png,cat\nb.png,dog\n",
           ",filename,target\n0,a.png,cat\n1,b.png,dog\n",
           "Unnamed: 0,Image Path,Class Name\n0,a.png,cat\n1,b.png,dog\n",
           "\xEF\xBB\xBF\"file_name\",\"labels\"\r\n\"a.png\", \"cat\"\r\n\"b.png\",\"dog\" \r\n",
           "categories,paths\ncat,a.png\ndog,b.png\n",
           "img,breed\na.png,cat\nb.png,dog\n",
           "path,label\ra.png,cat\rb.png,dog\r",
           "0,a.png,cat\n1,b.png,dog\n",
           "a.png;cat\nb.png;dog\n",
           "cat\ta.png\ndog\tb.png\n",
           "path|label\na.png|cat\nb.png|dog\n",
           "a.png cat\nb.png dog\n",
           "filename label\na.png \"cat\"\nb.png dog\n",
       }) {
    const auto data = Open(text);
    ASSERT_TRUE(data.ok()) << text << data.status();
    ASSERT_EQ((*data)->size(), 2) << text;
    EXPECT_EQ((*data)->name(0), "a.png") << text;
    EXPECT_EQ((*data)->name(1), "b.png") << text;
    EXPECT_THAT((*data)->labels(), ElementsAre("cat", "dog")) << text;
    EXPECT_EQ((*data)->label(1), 1) << text;
  }
}

TEST_F(CsvList, AnUnknownHeaderIsRefusedWithTheKnownNames) {
  EXPECT_THAT(Refusal("where,what,when\na.png,cat,1\n"),
              AllOf(HasSubstr("list.csv line 1: the header has \"where\", \"what\", \"when\""), HasSubstr("file_name"),
                    HasSubstr("label")));
  EXPECT_THAT(Refusal(std::string("\xFF\xFE"
                                  "a\0",
                                  4)),
              HasSubstr("UTF-16"));
}

TEST_F(CsvList, PathsWithoutEndingsAreRefusedUnlessTheyAreFiles) {
  EXPECT_THAT(Refusal("id,breed\n0a1,cat\n0a2,dog\n"),
              AllOf(HasSubstr("list.csv line 1: there is no file \"id\""), HasSubstr("path and label")));
  EXPECT_THAT(Refusal("filename,label\n0a1,cat\n"), HasSubstr("list.csv line 2: there is no file \"0a1\""));
  folder_.Write("0a2", "one");
  EXPECT_EQ((*Open("filename,label\n0a1,cat\n0a2,dog\n"))->size(), 2);
}

TEST_F(CsvList, AColumnOfSplitsDividesTheRows) {
  for (const char* text : {
           "path,label,split\na.png,cat,train\nb.png,dog,Train\nc.png,cat,test\n",
           "path,label,split\na.png,cat,training\nb.png,dog,train\nc.png,cat,validation\n",
           "Data Set,filepaths,labels\ntrain,a.png,cat\ntrain,b.png,dog\nvalid,c.png,cat\n",
           "path,label,is_valid\na.png,cat,False\nb.png,dog,False\nc.png,cat,True\n",
           "path,label,is_test\na.png,cat,0\nb.png,dog,0\nc.png,cat,1\n",
           "path,label,is_train\na.png,cat,1\nb.png,dog,1\nc.png,cat,0\n",
           "{\"path\":\"a.png\",\"label\":\"cat\",\"split\":\"train\"}\n"
           "{\"path\":\"b.png\",\"label\":\"dog\",\"split\":\"train\"}\n"
           "{\"path\":\"c.png\",\"label\":\"cat\",\"split\":\"test\"}\n",
       }) {
    const auto train = Open(text, Split::kTrain), test = Open(text, Split::kTest);
    ASSERT_TRUE(train.ok() && test.ok()) << text << train.status() << test.status();
    EXPECT_EQ((*train)->size(), 2) << text;
    ASSERT_EQ((*test)->size(), 1) << text;
    EXPECT_EQ((*test)->name(0), "c.png");
    EXPECT_THAT((*test)->labels(), ElementsAre("cat", "dog")) << "the classes must be those of the training split";
    EXPECT_FALSE((*test)->undivided());
    EXPECT_THAT((*test)->remarks(), IsEmpty());
  }
}

TEST_F(CsvList, AnUnreadOrUnknownSplitIsReported) {
  const std::string three = "path,label,split\na.png,dog,train\nb.png,ant,test\nc.png,dog,val\n";
  const auto test = Open(three);
  ASSERT_TRUE(test.ok()) << test.status();
  EXPECT_THAT((*test)->labels(), ElementsAre("dog", "ant")) << "classes that only the test split has must come last";
  EXPECT_THAT((*test)->remarks(), ElementsAre(HasSubstr("list.csv: 1 row of val; the test split is test")));
  EXPECT_THAT(Refusal(three + "d.png,dog,extra\n"),
              HasSubstr("list.csv line 5: \"extra\" in the column split is no split; expected train, "));
  EXPECT_THAT(Refusal(three + "d.png,dog\n"), HasSubstr("line 5: \"\" in the column split"));
  EXPECT_EQ(Open("path,label,split\na.png,cat,train\n").status().code(), absl::StatusCode::kNotFound);
  const auto folds = Open("path,label,split\na.png,cat,0\nb.png,cat,1\n");
  ASSERT_TRUE(folds.ok()) << folds.status();
  EXPECT_TRUE((*folds)->undivided());
  EXPECT_THAT((*folds)->remarks(), ElementsAre(HasSubstr("the column split is ignored, because \"0\" is no split")));
  EXPECT_TRUE((*Open("path,label\na.png,cat\n"))->undivided());
}

TEST_F(CsvList, AFileMayBeInOneRowOnlyDespiteDifferentPaths) {
  for (const char* path : {"./0.png", ".//0.png", "sub/../0.png"}) {
    EXPECT_THAT(Refusal(std::string("path,label\n0.png,cat\n") + path + ",dog\n"),
                HasSubstr("list.csv line 3: " + std::string(path) + " is in line 2 already"));
  }
  EXPECT_THAT(Refusal("path,label\n0.png,cat\n" + folder_.Path("0.png") + ",dog\n"), HasSubstr("is in line 2 already"));
}

TEST_F(CsvList, OtherEncodingsAndFormatsAreNamed) {
  EXPECT_THAT(Refusal("path,label\n\xFC.png,cat\n"), HasSubstr("line 2: the list is not UTF-8; save it as UTF-8"));
  EXPECT_THAT(Refusal("path,label\na.png,caf\xE9\n"), HasSubstr("line 2: the list is not UTF-8"));
  EXPECT_THAT(Refusal("[{\"file_name\": \"0.png\", \"label\": \"cat\"}]"),
              HasSubstr("list.csv is a JSON array; write one object a line, as FILE.jsonl"));
  for (const char* value : {"null", "[\"cat\"]", "\"\""}) {
    EXPECT_THAT(Refusal(std::string("{\"file_name\": \"0.png\", \"label\": ") + value + "}"),
                HasSubstr("line 1: expected a path and a label; each line holds one image, as in {"));
  }
  EXPECT_TRUE(Open("[a].png,cat\n").ok());
  EXPECT_THAT((*Open("path,label\na.png,cat\xC2\xA0\nb.png,cat\n"))->labels(), ElementsAre("cat"))
      << "a no-break space at the end must be ignored";
  folder_.Write("\xFC.png", "one");
  EXPECT_TRUE(Open("path,label\n\xFC.png,cat\n").ok())
      << "a name that is not UTF-8 must be accepted if the file exists";
}

TEST_F(CsvList, AcceptsWindowsPathsAndBothUnicodeForms) {
  folder_.Write("sub/1.png", "one");
  folder_.Write("caf\xE9.png", "two");
  const auto data = Open("sub\\1.png,cafe\xCC\x81\ncaf\\xe9.png,caf\xC3\xA9\n");
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->name(0), "sub/1.png");
  EXPECT_EQ(*(*data)->encoded(1), "two");
  EXPECT_THAT((*data)->labels(), ElementsAre("caf\xC3\xA9"));
  EXPECT_THAT(Refusal("sub/1.png,a\nsub\\1.png,a\n"), HasSubstr("is in line 1 already"));
}

TEST_F(CsvList, AcceptsJsonLines) {
  const std::string list = folder_.Write("metadata.jsonl",
                                         "{\"file_name\": \"b.png\", \"label\": 10}\n\n"
                                         "{\"label\": 9, \"file_name\": \"a.png\", \"x\": []}\n");
  const auto data = OpenDataset("csv:" + list, Split::kTest);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->name(0), "b.png");
  EXPECT_THAT((*data)->labels(), ElementsAre("9", "10"));
  folder_.Write("metadata.jsonl", "{\"file_name\": \"b.png\"}");
  EXPECT_THAT(std::string(OpenDataset("csv:" + list, Split::kTest).status().message()), HasSubstr("line 1: expected"));
}

TEST_F(CsvList, AnErrorNamesTheLine) {
  EXPECT_THAT(Refusal("a.png,cat\nb.png\n"), AllOf(HasSubstr("list.csv line 2"), HasSubstr("a path and a label")));
  EXPECT_THAT(Refusal("a.png,cat\n,dog\n"), HasSubstr("line 2"));
  EXPECT_THAT(Refusal("my cat.png\n"), AllOf(HasSubstr("line 1"), HasSubstr("semicolon, tab, bar or blank")));
  EXPECT_THAT(Refusal("a.png,cat\nb.png,cat\na.png,dog\n"), HasSubstr("line 3: a.png is in line 1 already"));
  EXPECT_THAT(Refusal("a.png tabby cat\nb.png tiger cat\n"), HasSubstr("line 1")) << "the label has a space";
  EXPECT_THAT(Refusal("a.png cat\nmy dog.png dog\n"), HasSubstr("line 1")) << "the name has a space";
  EXPECT_THAT(Refusal("\"a.png,cat\n"), HasSubstr("the quote is not closed"));
  EXPECT_THAT(Refusal(""), HasSubstr("lists no image"));
  EXPECT_THAT(Refusal("path,label\n"), HasSubstr("lists no image"));
  EXPECT_EQ(OpenDataset("csv:" + folder_.Path("none.csv"), Split::kTest).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(CsvList, TheDigestCoversNamesAndLabels) {
  // Computed with: printf 'a.png\t1\nb.png\t0\n' | sha256sum
  EXPECT_EQ(DigestOf(**Open("b.png,cat\na.png,dog\n")),
            "ef58e1358604415b255677410d6c0db71d85da7d5b65c2e71db3732c7decfd70");
  EXPECT_NE(DigestOf(**Open("b.png,dog\na.png,cat\n")), DigestOf(**Open("b.png,cat\na.png,dog\n")));
}

TEST_F(CsvList, TheContentDigestAlsoCoversTheBytes) {
  folder_.Write("a.png", "one");
  folder_.Write("b.png", "two");
  const std::string list = "b.png,cat\na.png,dog\n";
  // Computed with: printf 'a.png\t1\t%s\nb.png\t0\t%s\n' $(printf one | sha256sum | cut -c-64) $(printf two | ...) |
  // sha256sum
  EXPECT_EQ(*ContentDigestOf(**Open(list), 2), "54bcec22cdd314a28a1cbe7bc4b2bd0086974e14005cae9452fec01f37d578bb");
  folder_.Write("b.png", "owt");
  EXPECT_NE(*ContentDigestOf(**Open(list)), "54bcec22cdd314a28a1cbe7bc4b2bd0086974e14005cae9452fec01f37d578bb")
      << "another image with the same name must change the digest";
  folder_.Write("c.png", "one");
  EXPECT_EQ(CountShared(*ImageDigestsOf(**Open("c.png,cat\nb.png,cat\n")), *ImageDigestsOf(**Open("a.png,dog\n"))), 1)
      << "an image may have another name in the other set";
  std::filesystem::remove(folder_.Path("b.png"));
  EXPECT_TRUE(absl::IsNotFound(ContentDigestOf(**Open(list)).status()));
}

}  // namespace
}  // namespace vitrine

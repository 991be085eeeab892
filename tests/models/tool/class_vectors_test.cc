// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/import/class_vectors.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Returns an array as numpy.save writes it, version 1.
template <class Number>
std::string Array(const std::string& type, const std::string& shape, const std::vector<Number>& numbers,
                  const std::string& order = "False") {
  std::string header = absl::StrCat("{'descr': '", type, "', 'fortran_order': ", order, ", 'shape': (", shape, "), }");
  header.resize(117, ' ');
  header += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += {'\x01', '\x00', static_cast<char>(header.size()), '\x00'};
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number));
  return bytes;
}

std::string Fault(const std::string& bytes) {
  return std::string(ParseArray(bytes).status().message());
}

TEST(ClassVectors, EveryFloatingTypeIsRead) {
  const auto values = [](const std::string& bytes) { return ParseArray(bytes).value().values; };
  EXPECT_THAT(values(Array<float>("<f4", "2, 2", {1, 2, 3, 0.5})), ElementsAre(1, 2, 3, 0.5));
  EXPECT_THAT(values(Array<double>("<f8", "2, 2", {1, 2, 3, 0.5})), ElementsAre(1, 2, 3, 0.5));
  EXPECT_THAT(values(Array<uint16_t>("<f2", "1, 2", {0x3c00, 0xb800})), ElementsAre(1, -0.5));
  EXPECT_THAT(ParseArray(Array<float>("<f4", "1, 2", {1, 2})).value().shape, ElementsAre(1, 2));
}

TEST(ClassVectors, OtherArraysAreRefused) {
  const std::string whole = Array<float>("<f4", "2, 2", {1, 2, 3, 4});
  EXPECT_THAT(Fault(""), HasSubstr("not an array of NumPy"));
  EXPECT_THAT(Fault("PK\x03\x04 an archive of arrays"), HasSubstr("numpy.save"));
  EXPECT_THAT(Fault(whole.substr(0, 40)), HasSubstr("header is cut off"));
  EXPECT_THAT(Fault(whole.substr(0, whole.size() - 1)), HasSubstr("as many numbers"));
  // The array states a size of 4 TB, which must not be allocated.
  EXPECT_THAT(Fault(Array<float>("<f4", "1048576, 1048576", {1})), HasSubstr("as many numbers"));
  EXPECT_THAT(Fault(Array<float>("<f4", "4,", {1, 2, 3, 4})), HasSubstr("two dimensions"));
  EXPECT_THAT(Fault(Array<float>("<f4", "99999999999999999999, 2", {1})), HasSubstr("two dimensions"));
  EXPECT_THAT(Fault(Array<float>("<f4", "2, 2", {1, 2, 3, 4}, "True")),
              AllOf(HasSubstr("C order"), HasSubstr("ascontiguousarray")))
      << "astype keeps the order";
  EXPECT_THAT(Fault(Array<int64_t>("<i8", "1, 2", {1, 2})), HasSubstr("float16, float32 or float64"));
}

TEST(ClassVectors, RowsOfAHeadHaveTheLengthOfTheScale) {
  const ScratchFolder folder;
  folder.Write("v.npy", Array<float>("<f4", "2, 2", {3, 4, 0, 0.5}));
  const absl::StatusOr<StoredTensor> head = CosineHead(folder.Path("v.npy"), {"cat", "dog"}, 2, 10);
  ASSERT_TRUE(head.ok()) << head.status();
  EXPECT_THAT(FloatsOf(*head).values, ElementsAre(6, 8, 0, 10));
  EXPECT_THAT(std::string(CosineHead(folder.Path("v.npy"), {"cat", "dog", "owl"}, 2, 10).status().message()),
              HasSubstr("has 2 vectors of 2 numbers; there are 3 labels"));
  folder.Write("zero.npy", Array<float>("<f4", "2, 2", {3, 4, 0, 0}));
  EXPECT_THAT(std::string(CosineHead(folder.Path("zero.npy"), {"cat", "dog"}, 2, 10).status().message()),
              HasSubstr("the vector of class 1, \"dog\", has the length 0"));
}

TEST(ClassVectors, TheScaleIsThatOfTheFileOr100) {
  EXPECT_EQ(LogitScaleOf({}), 100);
  EXPECT_NEAR(LogitScaleOf({{"logit_scale", StoredOf({.shape = {}, .values = {std::log(20.0F)}})}}), 20, 1e-4);
}

}  // namespace
}  // namespace vitrine

// SPDX-License-Identifier: Apache-2.0
#include "models/repository/files/safetensors.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "models/reference/checkpoint/stored_tensors.h"
#include "models/repository/files/safetensors_header.h"
#include "tests/models/repository/sample_version.h"

namespace vitrine {
namespace {

using testing::HasSubstr;

std::string File(const std::string& header, const std::string& data = "") {
  std::string bytes(8, '\0');
  const uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

Safetensors EveryDtypeAndRank() {
  Safetensors content;
  for (const at::ScalarType dtype : {at::kFloat, at::kHalf, at::kBFloat16, at::kLong, at::kByte}) {
    const std::string name = c10::toString(dtype);
    content.tensors[name + ".rank0"] = StoredOf(at::full({}, 42, dtype));
    content.tensors[name + ".rank1"] = StoredOf(at::arange(7, dtype));
    content.tensors[name + ".rank8"] = StoredOf(at::arange(24, dtype).reshape({1, 2, 1, 3, 1, 4, 1, 1}));
    content.tensors[name + ".empty"] = StoredOf(at::empty({3, 0, 2}, dtype));
  }
  content.tensors["name with \"quotes\", ü and \x01"] = StoredOf(at::rand({2, 3}));
  content.metadata = {{"format", "pt"}, {"ключ", "value\n"}};
  return content;
}

TEST(Safetensors, RoundTripsEveryDtypeAndRank) {
  const Safetensors content = EveryDtypeAndRank();
  const auto bytes = WriteSafetensors(content);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const auto read = ParseSafetensors(*bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->metadata, content.metadata);
  ASSERT_EQ(read->tensors.size(), content.tensors.size());
  for (const auto& [name, tensor] : content.tensors) {
    ASSERT_TRUE(read->tensors.contains(name)) << name;
    const StoredTensor& copy = read->tensors.at(name);
    EXPECT_EQ(copy.dtype, tensor.dtype) << name;
    EXPECT_EQ(copy.shape, tensor.shape) << name;
    EXPECT_TRUE(TensorOf(copy).equal(TensorOf(tensor))) << name;
  }
  EXPECT_EQ(*WriteSafetensors(*read), *bytes) << "equal input must give equal bytes";
}

TEST(Safetensors, WritesAnyMemoryLayout) {
  const at::Tensor base = at::arange(12, at::kFloat).reshape({3, 4});
  Safetensors content;
  content.tensors["transposed"] = StoredOf(base.t());
  content.tensors["slice"] = StoredOf(base.slice(1, 1, 3));
  content.tensors["trained"] = StoredOf(base.clone().set_requires_grad(true));
  const auto read = ParseSafetensors(*WriteSafetensors(content));
  ASSERT_TRUE(read.ok()) << read.status();
  for (const auto& [name, tensor] : content.tensors)
    EXPECT_TRUE(TensorOf(read->tensors.at(name)).equal(TensorOf(tensor))) << name;
}

TEST(Safetensors, EveryTensorIsAligned) {
  const auto bytes = WriteSafetensors(EveryDtypeAndRank());
  uint64_t length = 0;
  std::memcpy(&length, bytes->data(), 8);
  EXPECT_EQ(length % 8, 0u);
  const auto header = ParseSafetensorsHeader(std::string_view(*bytes).substr(8, length));
  ASSERT_TRUE(header.ok()) << header.status();
  for (const TensorEntry& tensor : header->tensors) {
    const uint64_t item = tensor.dtype == "I64" ? 8 : tensor.dtype == "F32" ? 4 : tensor.dtype == "U8" ? 1 : 2;
    EXPECT_EQ(tensor.begin % item, 0u) << tensor.name;
  }
}

TEST(Safetensors, TheSmallestFileHasNoTensors) {
  const auto content = ParseSafetensors(File("{}"));
  ASSERT_TRUE(content.ok()) << content.status();
  EXPECT_TRUE(content->tensors.empty());
}

TEST(Safetensors, AcceptsSpacesAndAnyOrderOfFields) {
  const auto content = ParseSafetensors(File(
      R"({ "b" : {"shape":[2],"data_offsets":[1,3],"dtype":"U8"}, "a":{"dtype":"U8","shape":[],"data_offsets":[0,1]},
               "none":{"dtype":"F32","shape":[0],"data_offsets":[1,1]} }   )",
      "xyz"));
  ASSERT_TRUE(content.ok()) << content.status();
  EXPECT_EQ(*content->tensors.at("a").As<uint8_t>(), 'x');
  EXPECT_EQ(content->tensors.at("b").As<uint8_t>()[1], 'z');
}

// If one dimension is 0, the other dimensions may have any value of 63 bits. Larger values are invalid.
TEST(Safetensors, DimensionsMayHave63Bits) {
  for (const char* shape : {"[0,9223372036854775807]", "[9223372036854775807,0,1]", "[0,4611686018427387904]"}) {
    const auto content =
        ParseSafetensors(File(R"({"w":{"dtype":"U8","shape":)" + std::string(shape) + R"(,"data_offsets":[0,0]}})"));
    EXPECT_TRUE(content.ok()) << shape << ": " << content.status();
  }
}

struct Malformed {
  const char* what;
  std::string bytes;
  const char* message;
};

std::string Tensor(const std::string& shape, const std::string& offsets, const std::string& dtype = "U8") {
  return absl::StrCat("{\"dtype\":\"", dtype, "\",\"shape\":", shape, ",\"data_offsets\":", offsets, "}");
}

std::string One(const std::string& shape, const std::string& offsets, const std::string& dtype = "U8") {
  return absl::StrCat("{\"w\":", Tensor(shape, offsets, dtype), "}");
}

const std::vector<Malformed>& MalformedFiles() {
  static const auto* const files = new std::vector<Malformed>{
      {"empty file", "", "0 bytes are too few"},
      {"seven bytes", std::string(7, '\0'), "7 bytes are too few"},
      {"no header", std::string(8, '\0'), "does not start with '{'"},
      {"header longer than the file", File("{}").replace(0, 1, "\x03"), "the file is truncated"},
      {"header above 1 MiB", std::string("\x01\0\x10\0\0\0\0\0", 8) + std::string(1 << 21, ' '), "1048577 bytes"},
      {"header length of 2^64 - 1", std::string(8, '\xff') + "{}", "18446744073709551615"},
      {"not JSON", File("{\"w\":"), "not valid JSON"},
      {"an array", File("[]"), "does not start with '{'"},
      {"space before", File(" {}"), "does not start with '{'"},
      {"byte order mark", File("\xef\xbb\xbf{}"), "does not start with '{'"},
      {"text after the object", File("{}{}"), "not valid JSON"},
      {"NUL and text after the object", File(std::string("{}\0{]", 5)), "not valid JSON at byte 2"},
      {"trailing comma", File("{\"w\":" + Tensor("[0]", "[0,0]") + ",}"), "not valid JSON"},
      {"malformed UTF-8", File("{\"\xff\":{}}"), "not valid JSON"},
      {"deep nesting", File("{\"w\":" + std::string(100000, '[')), "unexpected an array"},
      {"nested objects", File("{\"w\":{\"dtype\":{\"dtype\":{}}}}"), "unexpected an object"},
      {"tensor is a number", File("{\"w\":1}"), "tensor \"w\": unexpected a number"},
      {"tensor is null", File("{\"w\":null}"), "unexpected null"},
      {"key twice", File("{\"w\":" + Tensor("[0]", "[0,0]") + ",\"w\":" + Tensor("[0]", "[0,0]") + "}"),
       "tensor \"w\" appears twice"},
      {"key twice, once with an escape",
       File("{\"w\":" + Tensor("[0]", "[0,0]") + ",\"\\u0077\":" + Tensor("[0]", "[0,0]") + "}"),
       "tensor \"w\" appears twice"},
      {"field twice", File(R"({"w":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})"),
       "field \"dtype\" appears twice"},
      {"metadata twice", File(R"({"__metadata__":{},"__metadata__":{}})"), "appears twice"},
      {"metadata key twice", File(R"({"__metadata__":{"a":"1","a":"2"}})"), "metadata key \"a\" appears twice"},
      {"metadata value is a number", File(R"({"__metadata__":{"a":1}})"), "__metadata__: unexpected a number"},
      {"metadata is a string", File(R"({"__metadata__":"a"})"), "__metadata__: unexpected a string"},
      {"no dtype", File(R"({"w":{"shape":[0],"data_offsets":[0,0]}})"), "field \"dtype\" is missing"},
      {"no shape", File(R"({"w":{"dtype":"U8","data_offsets":[0,0]}})"), "field \"shape\" is missing"},
      {"no offsets", File(R"({"w":{"dtype":"U8","shape":[0]}})"), "field \"data_offsets\" is missing"},
      {"unknown field", File(R"({"w":{"dtype":"U8","stride":[1]}})"), "unknown field \"stride\""},
      {"unknown dtype", File(One("[1]", "[0,8]", "F64"), std::string(8, ' ')), "dtype \"F64\" is not one of"},
      {"dtype is a number", File(R"({"w":{"dtype":1}})"), "unexpected a number"},
      {"one offset", File(One("[0]", "[0]")), "data_offsets must hold two numbers"},
      {"three offsets", File(One("[0]", "[0,0,0]")), "data_offsets must hold two numbers"},
      {"offsets backwards", File(One("[1]", "[1,0]"), "x"), "end before they begin"},
      {"negative side", File(One("[-1]", "[0,0]")), "unexpected a negative number"},
      {"fractional side", File(One("[1.0]", "[0,1]"), "x"), "no 64-bit integer"},
      {"side above 2^64", File(One("[99999999999999999999]", "[0,1]"), "x"), "no 64-bit integer"},
      {"side is a string", File(One("[\"1\"]", "[0,1]"), "x"), "unexpected a string"},
      {"rank 9", File(One("[1,1,1,1,1,1,1,1,1]", "[0,1]"), "x"), "rank is above 8"},
      {"shape overflows", File(One("[4294967296,4294967296]", "[0,0]")), "overflows"},
      {"shape overflows by the element size", File(One("[4611686018427387904]", "[0,0]", "F32")), "overflows"},
      {"side above 2^63", File(One("[9223372036854775808]", "[0,1]"), "x"), "overflows"},
      {"empty, but its strides overflow", File(One("[0,9223372036854775807,2]", "[0,0]")), "overflows"},
      {"the largest side", File(One("[9223372036854775807]", "[0,1]"), "x"),
       "takes 9223372036854775807 bytes, its data_offsets span 1"},
      {"the largest side of wider numbers", File(One("[4611686018427387904]", "[0,1]", "F16"), "x"), "overflows"},
      {"shape larger than offsets", File(One("[2]", "[0,1]"), "x"), "takes 2 bytes, its data_offsets span 1"},
      {"shape smaller than offsets", File(One("[1]", "[0,2]"), "xy"), "takes 1 bytes, its data_offsets span 2"},
      {"offsets past the end", File(One("[2]", "[0,2]"), "x"), "ends at 2, but the file holds only 1"},
      {"bytes left over", File(One("[1]", "[0,1]"), "xy"), "1 bytes follow the last tensor"},
      {"bytes without tensors", File("{}", "x"), "1 bytes follow the last tensor"},
      {"gap at the start", File(One("[1]", "[1,2]"), "xy"), "leaving a gap after 0"},
      {"gap between", File("{\"a\":" + Tensor("[1]", "[0,1]") + ",\"b\":" + Tensor("[1]", "[2,3]") + "}", "xyz"),
       "tensor \"b\": starts at 2, leaving a gap after 1"},
      {"overlap", File("{\"a\":" + Tensor("[2]", "[0,2]") + ",\"b\":" + Tensor("[2]", "[1,3]") + "}", "xyz"),
       "tensor \"b\": starts at 1, inside another tensor that ends at 2"},
      {"two tensors of the same bytes",
       File("{\"a\":" + Tensor("[2]", "[0,2]") + ",\"b\":" + Tensor("[2]", "[0,2]") + "}", "xy"), "inside another"},
  };
  return *files;
}

TEST(Safetensors, RefusesEveryMalformationByName) {
  for (const Malformed& file : MalformedFiles()) {
    EXPECT_THAT(ParseSafetensors(file.bytes), Fails(absl::StatusCode::kInvalidArgument, HasSubstr(file.message)))
        << file.what;
  }
}

TEST(Safetensors, AFileLargerThanTheMemoryIsNotRead) {
  const auto read = ReadSafetensors(uint64_t{1} << 60, [](char*, size_t) { return absl::DataLossError("read"); });
  EXPECT_TRUE(absl::IsResourceExhausted(read.status())) << read.status();
  EXPECT_THAT(read.status().ToString(), HasSubstr("the file has 1152921504606846976 bytes, more than the"));
}

TEST(Safetensors, AHeaderOfExactlyOneMebibyteIsRead) {
  std::string header = "{}";
  header.append(kMaxSafetensorsHeader - header.size(), ' ');
  EXPECT_TRUE(ParseSafetensors(File(header)).ok());
  EXPECT_THAT(ParseSafetensors(File(header + " ")), Fails(absl::StatusCode::kInvalidArgument, HasSubstr("1048577")));
}

TEST(Safetensors, EveryTruncationIsRefused) {
  const std::string bytes = *WriteSafetensors(EveryDtypeAndRank());
  ASSERT_TRUE(ParseSafetensors(bytes).ok());
  for (size_t length = 0; length < bytes.size(); ++length) {
    ASSERT_THAT(ParseSafetensors(std::string_view(bytes).substr(0, length)),
                Fails(absl::StatusCode::kInvalidArgument, HasSubstr("")))
        << "cut after " << length << " of " << bytes.size() << " bytes";
  }
}

TEST(Safetensors, TheWriterRefusesFilesThatTheReaderRefuses) {
  const auto refused = [](const std::string& name, const at::Tensor& tensor, const std::string& message) {
    Safetensors content;
    content.tensors[name] = StoredOf(tensor);
    EXPECT_THAT(WriteSafetensors(content), Fails(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  };
  refused("w", at::full({1, 1, 1, 1, 1, 1, 1, 1, 1}, 0.0), "rank is above 8");
  refused("__metadata__", at::full({1}, 0.0), "reserved");
  refused("\xff", at::full({1}, 0.0), "not UTF-8");
  refused(std::string(1 << 20, 'x'), at::full({1}, 0.0), "at most 1048576");
}

TEST(Safetensors, NanIsFoundAtAnyPosition) {
  for (const at::ScalarType dtype : {at::kFloat, at::kHalf, at::kBFloat16}) {
    Safetensors content;
    content.tensors["w"] = StoredOf(at::full({8200}, 1.0, dtype));
    EXPECT_TRUE(CheckFinite(content).ok());
    for (const int64_t place : {0, 4095, 4096, 8191, 8192, 8199}) {
      at::Tensor value = TensorOf(content.tensors["w"]).select(0, place);
      value.fill_(std::nan(""));
      EXPECT_FALSE(CheckFinite(content).ok()) << place;
      value.fill_(1);
    }
  }
}

TEST(Safetensors, NanAndInfinityAreFoundInEveryFloatingDtype) {
  for (const at::ScalarType dtype : {at::kFloat, at::kHalf, at::kBFloat16}) {
    for (const double value : {std::nan(""), -std::numeric_limits<double>::infinity()}) {
      Safetensors content;
      content.tensors["good"] = StoredOf(at::full({5}, 1e4, dtype));
      EXPECT_TRUE(CheckFinite(content).ok());
      content.tensors["spoilt"] = StoredOf(at::full({5}, 1.0, dtype));
      TensorOf(content.tensors["spoilt"]).select(0, 4).fill_(value);
      EXPECT_THAT(CheckFinite(content),
                  Refuses(absl::StatusCode::kFailedPrecondition, HasSubstr("tensor \"spoilt\" holds NaN or infinity")));
    }
  }
  Safetensors whole;
  whole.tensors["bytes"] = StoredOf(at::full({5}, 255, at::kByte));
  whole.tensors["integers"] = StoredOf(at::full({5}, -1, at::kLong));
  EXPECT_TRUE(CheckFinite(whole).ok());
}

}  // namespace
}  // namespace vitrine

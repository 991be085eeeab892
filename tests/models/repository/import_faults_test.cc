// SPDX-License-Identifier: Apache-2.0
// Tests that faults of foreign weights are explained: files of other formats.
#include <gmock/gmock.h>

#include "models/repository/import/import.h"
#include "tests/models/repository/sample_version.h"

namespace vitrine {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string Refusal(const std::string& name, const std::string& bytes) {
  const ScratchFolder folder{FastParent()};
  WriteFile(folder.path() / name, bytes);
  return std::string(ReadForeignWeights(folder.path() / name).status().message());
}

TEST(ForeignFile, OtherFormatsAreNamedWithTheWayOut) {
  const std::string zeros(64, '\0');
  EXPECT_THAT(Refusal("w.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 12\n"),
              AllOf(HasSubstr("\"w.safetensors\" is a Git LFS pointer"), HasSubstr("`git lfs pull`")));
  EXPECT_THAT(Refusal("w.safetensors", "\n<!DOCTYPE html><html>"), HasSubstr("is a web page"));
  EXPECT_THAT(Refusal("w.safetensors", "<HTML><body>"), HasSubstr("is a web page"));
  EXPECT_THAT(Refusal("w.h5", "\x89HDF\r\n\x1a\n" + zeros), AllOf(HasSubstr("HDF5"), HasSubstr("save_file")));
  EXPECT_THAT(Refusal("w.safetensors", "GGUF\x03" + zeros), HasSubstr("GGUF"));
  EXPECT_THAT(Refusal("w.bytes", std::string("\x08\x07\x12\x07pytorch") + zeros), HasSubstr("ONNX"));
  EXPECT_THAT(Refusal("w.npz", "PK\x03\x04" + zeros), HasSubstr("NumPy archive"));
  EXPECT_THAT(Refusal("w.msgpack", "\x82" + zeros), HasSubstr("Flax"));
  EXPECT_THAT(Refusal("w.safetensors.gz", "\x1f\x8b\x08" + zeros), HasSubstr("gunzip"));
  EXPECT_THAT(Refusal("w.safetensors", ""), HasSubstr("is empty"));
}

// Returns a file with one tensor "w" of one element.
std::string FileOf(const std::string& dtype, size_t bytes) {
  std::string header =
      R"({"w":{"dtype":")" + dtype + R"(","shape":[1],"data_offsets":[0,)" + std::to_string(bytes) + "]}}";
  std::string file(8, '\0');
  file[0] = static_cast<char>(header.size());
  return file + header + std::string(bytes, '\0');
}

TEST(ForeignFile, OtherElementTypesAreNoDamage) {
  EXPECT_THAT(Refusal("w.safetensors", FileOf("F64", 8)),
              AllOf(HasSubstr("tensor \"w\" is stored as F64"), HasSubstr(".float()")));
  for (const auto& [dtype, bytes] : {std::pair("I32", 4), {"BOOL", 1}, {"I8", 1}}) {
    EXPECT_THAT(Refusal("w.safetensors", FileOf(dtype, bytes)),
                AllOf(HasSubstr("tensor \"w\" is stored as " + std::string(dtype)), HasSubstr("leave it out")));
  }
  EXPECT_THAT(Refusal("w.safetensors", FileOf("X9", 8)), HasSubstr("is no safetensors file, or is damaged"));
}

// The length at the start of this file is 640, in bytes 80 02, which is also how a pickle starts.
TEST(ForeignFile, AHeaderOfAnyLengthIsRead) {
  std::string header = R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  header.resize(640, ' ');
  std::string file(8, '\0');
  file[0] = '\x80';
  file[1] = '\x02';
  EXPECT_EQ(Refusal("w.safetensors", file + header + std::string(4, '\0')), "");
}

}  // namespace
}  // namespace vitrine

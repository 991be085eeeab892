// SPDX-License-Identifier: Apache-2.0
#include "common/gzip.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "common/gunzip.h"

namespace vitrine {
namespace {

TEST(Gzip, GunzipReturnsTheOriginal) {
  std::mt19937 random(1);
  for (const size_t size : {0, 1, 17, 1000, 70'000, 3'000'000}) {
    std::string text, noise(size, '\0');
    while (text.size() < size) text += "the same words again, and " + std::to_string(text.size()) + "; ";
    text.resize(size);
    for (char& c : noise) c = static_cast<char>(random());
    for (const std::string& bytes : {text, noise, std::string(size, 'x')}) {
      const std::string packed = Gzip(bytes);
      EXPECT_TRUE(IsGzip(packed));
      EXPECT_TRUE(Gunzip(packed, size).value() == bytes) << size;
    }
    EXPECT_LT(Gzip(text).size(), size / 3 + 100);
    EXPECT_LT(Gzip(noise).size(), size + size / 100 + 200) << "incompressible data must hardly grow";
  }
}

}  // namespace
}  // namespace vitrine

// SPDX-License-Identifier: Apache-2.0
#include "common/nearest.h"

#include <gtest/gtest.h>

namespace vitrine {
namespace {

TEST(WordDistance, CountsTypingErrors) {
  EXPECT_EQ(WordDistance("", ""), 0);
  EXPECT_EQ(WordDistance("", "abc"), 3);
  EXPECT_EQ(WordDistance("classify", "clasify"), 1);
  EXPECT_EQ(WordDistance("--model", "--modle"), 1) << "two exchanged neighbours must count as one error";
  EXPECT_EQ(WordDistance("kitten", "sitting"), 3);
}

TEST(NearestWord, IsTheWordWithFewErrors) {
  const std::vector<std::string> words = {"classify", "embed", "models", "bench", "eval", "health", "token"};
  EXPECT_EQ(NearestWord("clasify", words), "classify");
  EXPECT_EQ(NearestWord("Modles", words), "models");
  EXPECT_EQ(NearestWord("model", words), "models");
  EXPECT_EQ(NearestWord("class", words), "classify") << "the only word with this prefix must be found";
  EXPECT_EQ(NearestWord("evla", words), "eval");
  EXPECT_EQ(NearestWord("serve", words), "");
  EXPECT_EQ(NearestWord("", words), "");
  EXPECT_EQ(NearestWord("embed", {}), "");
  EXPECT_EQ(NearestWord(std::string(5000, 'a'), words), "");
  EXPECT_EQ(NearestWord("eit-mini-cifar", {"eit-mini-cifar10", "kv-pos-mnist"}), "eit-mini-cifar10");
}

}  // namespace
}  // namespace vitrine

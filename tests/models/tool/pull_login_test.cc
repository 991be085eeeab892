// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>

#include "models/tool/publish/import/pull.h"

namespace vitrine {
namespace {

TEST(LoginTo, SendsTheTokenOnlyOverHttpsAndToThisMachine) {
  setenv("HF_TOKEN", "secret", 1);
  for (const char* base : {"https://hub.example", "http://localhost:80", "http://127.0.0.1", "http://[::1]:8080"}) {
    EXPECT_EQ(LoginTo(base).count("Authorization"), 1u) << base;
  }
  for (const char* base : {"http://hub.example", "http://127.0.0.1:1@hub.example", "http://localhost.example"}) {
    EXPECT_TRUE(LoginTo(base).empty()) << base;
  }
  unsetenv("HF_TOKEN");
}

}  // namespace
}  // namespace vitrine

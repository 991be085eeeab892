// SPDX-License-Identifier: Apache-2.0
#include "client/commands/models/models_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "client/commands/embed_command.h"
#include "tests/client/lib/small_server.h"

namespace vitrine {
namespace {

TEST(ModelShow, AVersionThatFailedHasItsReason) {
  SmallServer::Methods methods;
  v1::ModelVersion& failed = *methods.models.add_versions();
  failed.set_model("m");
  failed.set_version(1);
  failed.set_state(v1::FAILED);
  failed.set_reason("golden.safetensors is missing");
  const SmallServer server(methods);
  std::ostringstream out;
  EXPECT_EQ(RunModelShow({.address = server.address()}, {.name = "m", .version = 1}, Format::kTable, {}, out),
            absl::OkStatus());
  EXPECT_THAT(out.str(), testing::HasSubstr("golden.safetensors is missing"));
  EXPECT_EQ(ChooseFeatureKind(v1::FEATURE_KIND_UNSPECIFIED, failed).status().message(),
            "model \"m\" version 1 failed to load: golden.safetensors is missing");
}

}  // namespace
}  // namespace vitrine

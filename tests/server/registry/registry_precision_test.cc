// SPDX-License-Identifier: Apache-2.0
// Tests versions whose precision comes from the settings, and changes of these settings.
#include <gtest/gtest.h>

#include <memory>

#include "server/registry/registry.h"
#include "tests/server/registry/fake_repository.h"

namespace vitrine {
namespace {

// Tests that a version whose precision was changed serves with the loaded model until the model in the new precision is
// ready. A version whose files were replaced is reloaded in the same way.
TEST(RegistryPrecision, AChangedPrecisionReloadsTheVersion) {
  FakeRepository files;
  FakeClock clock;
  files.Add("m", 1);
  files.Add("m", 2);
  RegistryOptions options;
  options.root = files.root();
  options.serving_config = (files.folder() / "serving").string();
  options.precision = "bf16";
  files.Write("serving", "models { model: 'm' version_policy { all: true } }");
  bool refuses = false;
  std::unique_ptr<ServingSettings> settings;
  const Registry::Loader loader = [&, load = files.Loader()](const VersionId& id) -> absl::StatusOr<ModelHandle> {
    absl::StatusOr<ModelHandle> loaded = load(id);
    if (!loaded.ok()) return loaded;
    if (refuses) return absl::FailedPreconditionError("no plan");
    auto model = std::make_shared<LoadedModel>();
    model->id = id;
    model->precision = settings->NameOfPrecision(id);
    return model;
  };
  settings = *ServingSettings::Open(options.Serving());
  Registry registry(options, {.load = loader, .settings = settings.get()}, clock);
  registry.Poll();
  const auto precision_of = [&](int64_t version) { return registry.Find("m", version).value()->precision; };
  EXPECT_EQ(precision_of(1), "bf16");
  files.Write("serving",
              "models { model: 'm' version_policy { all: true } precision: 'int8' "
              "version_precisions { version: 1 precision: 'fp32' } }");
  refuses = true;
  registry.Poll();
  EXPECT_EQ(precision_of(1), "bf16") << "the loaded model stays if the new precision cannot be loaded";
  const auto reason_of = [&](int64_t version) { return registry.Get("m", version).value().reason; };
  EXPECT_EQ(reason_of(1), "it cannot be served in fp32, so the loaded version continues to serve: no plan");
  EXPECT_EQ(reason_of(2), "it cannot be served in int8, so the loaded version continues to serve: no plan");
  files.Write("serving",
              "models { model: 'm' version_policy { all: true } version_precisions { version: 1 precision: 'fp32' } }");
  registry.Poll();
  EXPECT_EQ(reason_of(2), "") << "version 2 has the precision of the settings again";
  files.Write("serving",
              "models { model: 'm' version_policy { all: true } precision: 'int8' "
              "version_precisions { version: 1 precision: 'fp32' } }");
  refuses = false;
  clock.Advance(absl::Hours(1));
  registry.Poll();
  EXPECT_EQ(precision_of(1), "fp32");
  EXPECT_EQ(precision_of(2), "int8");
  EXPECT_EQ(reason_of(1), "");
  const size_t loads = files.loads.size();
  registry.Poll();
  EXPECT_EQ(files.loads.size(), loads);
}

}  // namespace
}  // namespace vitrine

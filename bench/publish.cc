// Publishes models that were not trained, for measuring: a variant of the zoo with random weights, or the null model,
// which answers zeros.
//
//   bench_publish DIR null             the null model with 1000 classes at 224x224, as "null"
//   bench_publish DIR eit34-mini-cifar10
#include <ATen/ops/empty.h>

#include <CLI/CLI.hpp>
#include <cstring>
#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "models/model.h"
#include "models/zoo.h"
#include "report/png.h"
#include "repository/checkpoint.h"
#include "repository/repository.h"
#include "server/picture_input.h"

namespace vitrine {
namespace {

v1::ModelConfig NullConfig() {
  v1::ModelConfig config;
  v1::Preprocessing& preprocessing = *config.mutable_preprocessing();
  preprocessing.set_channels(3);
  for (int channel = 0; channel < 3; ++channel) {
    preprocessing.add_mean(0.5);
    preprocessing.add_std(0.5);
  }
  preprocessing.set_interpolation(v1::BICUBIC);
  preprocessing.mutable_fixed()->set_height(224);
  preprocessing.mutable_fixed()->set_width(224);
  preprocessing.mutable_fixed()->set_fit(v1::FixedResolution::STRETCH);
  config.set_classes(1000);
  config.mutable_null();
  return config;
}

absl::StatusOr<v1::ModelConfig> ConfigOf(const std::string& name) {
  if (name == "null") return NullConfig();
  ASSIGN_OR_RETURN(const ZooRow row, FindVariant(name));
  return row.config;
}

// A picture with something in every pixel.
absl::StatusOr<at::Tensor> GoldenPicture(int channels) {
  Image image{.width = 40, .height = 36, .channels = channels, .pixels = {}};
  for (int i = 0; i < image.width * image.height * channels; ++i) image.pixels.push_back(static_cast<uint8_t>(i * 7));
  ASSIGN_OR_RETURN(const std::string png, EncodePng(image));
  at::Tensor bytes = at::empty({static_cast<int64_t>(png.size())}, at::kByte);
  std::memcpy(bytes.mutable_data_ptr(), png.data(), png.size());
  return bytes;
}

absl::StatusOr<VersionId> PublishUntrained(const std::string& repository, const std::string& name) {
  ASSIGN_OR_RETURN(const v1::ModelConfig config, ConfigOf(name));
  ASSIGN_OR_RETURN(const std::unique_ptr<Model> model, MakeModel(config, /*seed=*/1));
  Draft draft;
  *draft.manifest.mutable_config() = config;
  draft.manifest.mutable_provenance()->set_recipe("not trained");
  v1::GoldenTolerance& tolerance = *draft.manifest.add_golden_tolerances();
  tolerance.set_device("cpu");
  tolerance.set_precision("fp32");
  tolerance.set_tolerance(1e-4);
  for (int i = 0; i < config.classes(); ++i) draft.labels.push_back(absl::StrCat("class ", i));
  draft.weights = SaveWeights(*model, at::kFloat);
  draft.manifest.set_parameters(model->CountParameters());
  ASSIGN_OR_RETURN(draft.golden.tensors["picture.0"], GoldenPicture(config.preprocessing().channels()));
  RETURN_IF_ERROR(RecordGolden(*model, EncodedPictureToInput, draft.golden));
  return Publish(repository, name, draft);
}

int Main(int argc, char** argv) {
  std::string repository, name;
  CLI::App app("Publishes a model that was not trained, for measuring.", "bench_publish");
  app.add_option("repository", repository, "folder that holds <model>/<version>/; made if missing")->required();
  app.add_option("name", name, "null, or a variant of vitrine-train --list-models")->required();
  CLI11_PARSE(app, argc, argv);
  const absl::StatusOr<VersionId> published = PublishUntrained(repository, name);
  if (!published.ok()) {
    std::cerr << "bench_publish: " << published.status().message() << "\n";
    return 1;
  }
  std::cout << published->model << " " << published->version << "\n";
  return 0;
}

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
  return vitrine::Main(argc, argv);
}

// SPDX-License-Identifier: Apache-2.0
// Times the stages of a request, each on one core.
//
//   stages_bench --weights=models/bundled/kv-pos-mnist/1/weights.safetensors --image=PHOTO [Google Benchmark's flags]
#include <benchmark/benchmark.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "bench/images.h"
#include "common/imaging/decode.h"
#include "common/imaging/geometry.h"
#include "common/imaging/header.h"
#include "common/imaging/preprocess.h"
#include "models/repository/files/safetensors.h"
#include "models/zoo.h"
#include "server/serve/execution/image_input.h"
#include "server/serve/scheduling/batching_policy.h"
#include "server/wire/message/read_message.h"

namespace vitrine {
namespace {

void Header(benchmark::State& state, const std::string& image) {
  for (auto _ : state) benchmark::DoNotOptimize(ReadHeader(image));
}

void DecodeImage(benchmark::State& state, const std::string& image) {
  for (auto _ : state) benchmark::DoNotOptimize(Decode(image));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(image.size()));
}

void PreprocessImage(benchmark::State& state, const std::string& encoded, const std::string& variant) {
  const absl::StatusOr<Image> image = Decode(encoded);
  const absl::StatusOr<ZooRow> row = FindVariant(variant);
  if (!image.ok() || !row.ok()) return state.SkipWithError("no image, or no such variant");
  const v1::Preprocessing& preprocessing = row->config.preprocessing();
  const auto geometry = PlanGeometry(preprocessing, {image->height, image->width});
  if (!geometry.ok()) return state.SkipWithError("the image does not suit the variant");
  for (auto _ : state) benchmark::DoNotOptimize(Preprocess(*image, preprocessing, *geometry));
}

// Returns a request as the transport delivers it.
MessageBytes Received(const v1::ClassifyRequest& request) {
  return std::make_shared<const ReceivedBytes>(ReceivedBytes{request.SerializeAsString(), {}});
}

// Measures the conversion of a received message to the executor's input, for a normalised tensor of 224x224.
void TakeTensor(benchmark::State& state, v1::RawTensor::Layout layout) {
  constexpr int kSide = 224, kChannels = 3;
  v1::ClassifyRequest request;
  v1::RawTensor& tensor = *request.mutable_tensor();
  tensor.set_layout(layout);
  tensor.set_data_type(v1::RawTensor::DATA_FLOAT32);
  tensor.set_normalized(true);
  tensor.set_height(kSide);
  tensor.set_width(kSide);
  tensor.set_channels(kChannels);
  tensor.set_data(std::string(sizeof(float) * kSide * kSide * kChannels, '\0'));
  const MessageBytes bytes = Received(request);
  for (auto _ : state) {
    const absl::StatusOr<ReceivedClassify> read = ReadClassify(bytes);
    benchmark::DoNotOptimize(MakeImageInput(read->message, read->input, v1::Preprocessing(), Geometry()));
  }
}

// Parses a request that has an image of 110 KB.
void ReadRequest(benchmark::State& state) {
  v1::ClassifyRequest request;
  request.set_model("model");
  request.set_top_k(5);
  request.set_request_id("0123456789abcdef");
  request.set_image(std::string(110'000, 'x'));
  const MessageBytes bytes = Received(request);
  for (auto _ : state) benchmark::DoNotOptimize(ReadClassify(bytes));
}

// Measures the scheduler's decision on a queue of small requests for two models. None of the requests is cancelled.
void DecideBatch(benchmark::State& state) {
  const BatchOptions options;
  const absl::Time now = absl::UnixEpoch() + absl::Hours(1);
  std::vector<WaitingRequest> waiting;
  const int models[2] = {};
  for (int64_t i = 0; i < state.range(0); ++i) {
    WaitingRequest request;
    request.sequence = i;
    request.model = &models[i % 2];
    request.tokens = 37 + 12 * (i % 10);
    request.priority = static_cast<PriorityClass>(i % kPriorityClasses);
    request.arrival = now - absl::Microseconds(i);
    waiting.push_back(request);
  }
  for (auto _ : state) benchmark::DoNotOptimize(Decide(waiting, now, options));
}

void ParseWeights(benchmark::State& state, const std::string& bytes) {
  for (auto _ : state) benchmark::DoNotOptimize(ParseSafetensors(bytes));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes.size()));
}

// Removes "--name=value" from the arguments and returns the value.
std::string Take(std::vector<char*>& arguments, const std::string& name) {
  for (auto argument = arguments.begin(); argument != arguments.end(); ++argument) {
    const std::string_view text = *argument;
    if (!text.starts_with("--" + name + "=")) continue;
    arguments.erase(argument);
    return std::string(text.substr(name.size() + 3));
  }
  return {};
}

int Main(int argc, char** argv) {
  std::vector<char*> arguments(argv, argv + argc);
  const std::string weights_file = Take(arguments, "weights");
  const std::string image_file = Take(arguments, "picture");
  std::ifstream weights_stream(weights_file, std::ios::binary);
  const std::string weights{std::istreambuf_iterator<char>(weights_stream), {}};
  const auto images = ReadImages({image_file});
  if (weights.empty() || !images.ok()) {
    std::cerr << "stages_bench: give --weights=FILE and --picture=FILE\n";
    return 2;
  }
  const std::string& image = images->front();
  benchmark::RegisterBenchmark("header", Header, image);
  benchmark::RegisterBenchmark("decode", DecodeImage, image)->Unit(benchmark::kMicrosecond);
  for (const char* variant : {"eit34-mini-cifar10", "kv-pos-mnist-p7-d64-l4"}) {
    const std::string name = std::string("preprocess/") + variant;
    benchmark::RegisterBenchmark(name.c_str(), PreprocessImage, image, variant)->Unit(benchmark::kMicrosecond);
  }
  benchmark::RegisterBenchmark("tensor/chw", TakeTensor, v1::RawTensor::CHW)->Unit(benchmark::kMicrosecond);
  benchmark::RegisterBenchmark("tensor/hwc", TakeTensor, v1::RawTensor::HWC)->Unit(benchmark::kMicrosecond);
  benchmark::RegisterBenchmark("read_request", ReadRequest);
  benchmark::RegisterBenchmark("decide", DecideBatch)->Arg(1)->Arg(64)->Arg(1024)->Unit(benchmark::kMicrosecond);
  benchmark::RegisterBenchmark("parse_safetensors", ParseWeights, weights)->Unit(benchmark::kMicrosecond);
  int left = static_cast<int>(arguments.size());
  benchmark::Initialize(&left, arguments.data());
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
  return vitrine::Main(argc, argv);
}

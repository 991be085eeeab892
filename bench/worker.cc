// SPDX-License-Identifier: Apache-2.0
// Runs a part of serving on command: a forward pass, decoding, or the model on decoded images. It can also measure the
// CPU's peak rate of multiply-adds.
#include <ATen/Parallel.h>

#include <CLI/CLI.hpp>
#include <string>

#include "bench/work.h"

namespace vitrine {
namespace {

struct Options {
  std::string repository;
  std::string model;
  ForwardOptions forward;
  std::vector<std::string> images;
};

int Main(int argc, char** argv) {
  // Uses one thread, like an executor of the server.
  at::set_num_threads(1);
  Options options;
  CLI::App app("Repeats a piece of work on command.", "bench_worker");
  app.require_subcommand(1);
  const auto add = [&](const char* name, const char* help) {
    CLI::App* command = app.add_subcommand(name, help);
    command->add_option("--repository", options.repository, "folder that holds <model>/<version>/")->required();
    command->add_option("--model", options.model, "name of the model; its newest version is used")->required();
    return command;
  };
  CLI::App* forward = add("forward", "the model over one batch of drawn inputs");
  forward->add_option("--sizes", options.forward.sizes, "HEIGHTxWIDTH of each image")->required();
  forward->add_option("--batches", options.forward.batches, "0,3,5 ...: images that go together; without it all");
  forward->add_option("--save-inputs", options.forward.save_inputs, "safetensors file for the inputs");
  CLI::App* peak = app.add_subcommand("peak", "multiply-adds in registers, 10^9 operations for an image");
  for (CLI::App* command : {forward, peak}) {
    command->add_option("--isa", options.forward.isa, "the engine's path: avx512, avx2, portable; default the best");
    command->add_option("--precision", options.forward.precision, "of products: fp32, bf16, int8; default fp32");
  }
  CLI::App* decode = add("decode", "decoding and preprocessing of images");
  CLI::App* model = add("model", "the model over images that were decoded before, in the server's batches");
  for (CLI::App* command : {decode, model}) {
    command->add_option("--pictures", options.images, "files or folders")->required();
  }
  CLI11_PARSE(app, argc, argv);
  const absl::StatusOr<Work> work = forward->parsed()  ? ForwardWork(options.repository, options.model, options.forward)
                                    : peak->parsed()   ? PeakWork(options.forward)
                                    : decode->parsed() ? DecodeWork(options.repository, options.model, options.images)
                                                       : ModelWork(options.repository, options.model, options.images);
  return Serve("bench_worker", work);
}

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
  return vitrine::Main(argc, argv);
}

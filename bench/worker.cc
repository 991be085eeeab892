// A process that does one kind of work on command, so that a driver can interleave it with its peers:
//
//   run N      repeats the work N times and prints the seconds that took
//   results    prints what the work computed, a line per image, then an empty line
//
// On start it prints "ready IMAGES DESCRIPTION", where IMAGES are in one repetition. It ends with its standard input.
#include <ATen/Parallel.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>

#include "bench/work.h"

namespace vitrine {
namespace {

struct Options {
  std::string repository;
  std::string model;
  std::string save_inputs;
  std::vector<std::string> sizes;
  std::vector<std::string> pictures;
};

int Fail(const absl::Status& status) {
  std::cerr << "bench_worker: " << status.message() << "\n";
  return 1;
}

int Serve(const Work& work) {
  std::printf("ready %d %s\n", work.images, work.description.c_str());
  std::fflush(stdout);
  std::string command;
  while (std::cin >> command) {
    if (command == "run") {
      int repetitions = 0;
      std::cin >> repetitions;
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < repetitions; ++i) {
        if (const absl::Status done = work.repeat(); !done.ok()) return Fail(done);
      }
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      std::printf("%.9f\n", spent.count());
    } else if (command == "results" && work.results) {
      for (const std::string& line : work.results()) std::puts(line.c_str());
      std::puts("");
    } else {
      return Fail(absl::InvalidArgumentError("no such command: " + command));
    }
    std::fflush(stdout);
  }
  return 0;
}

int Main(int argc, char** argv) {
  // An executor computes single-threaded.
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
  forward->add_option("--sizes", options.sizes, "HEIGHTxWIDTH of each image")->required();
  forward->add_option("--save-inputs", options.save_inputs, "safetensors file for the inputs");
  CLI::App* decode = add("decode", "decoding and preprocessing of pictures");
  CLI::App* model = add("model", "the model over pictures that were decoded before, in the server's batches");
  for (CLI::App* command : {decode, model}) {
    command->add_option("--pictures", options.pictures, "files or folders")->required();
  }
  CLI11_PARSE(app, argc, argv);
  const absl::StatusOr<Work> work =
      forward->parsed()  ? ForwardWork(options.repository, options.model, options.sizes, options.save_inputs)
      : decode->parsed() ? DecodeWork(options.repository, options.model, options.pictures)
                         : ModelWork(options.repository, options.model, options.pictures);
  return work.ok() ? Serve(*work) : Fail(work.status());
}

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
  return vitrine::Main(argc, argv);
}
